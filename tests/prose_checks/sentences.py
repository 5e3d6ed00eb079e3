"""The rules for a passage, a list of (line number, text): which of its sentences hide their subject, are too long, or have
words that contributing.md replaces."""

import re

MAX_WORDS = 25
WORDS = r"(?:what|whether|who|whoever|whose|whom|to whom|of)\b"
OPENING = re.compile(rf"{WORDS}", re.I)
# inside a comment a sentence is known by its capital
SENTENCE = re.compile(rf"(?<=[.!?:])[*_)]*\s+[*_(]*(?=(?:What|Whether|Who|Whoever|Whose|Whom|To whom|Of)\b)")
END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?][\"'”’)\]*_`]*\s+(?=[\"'“‘(\[*_]*[A-Z0-9`{<$@])")
CODE = re.compile(r"`[^`]*`|\{[^{}]*\}")

BE = r"(?:is|are|was|were|be|been|being)"
TAKE = r"(?:take|takes|took|taken|taking)"

# name: (words, right uses of them, texts that are found, texts that are not)
REPLACED = {
    "is not a": (
        rf"\b{BE} no\b",
        rf"\bthere (?:\w+ )?{BE} no\b|\b{BE} there no\b|\b{BE} no (?:longer|more|less|fewer|later|earlier|larger|smaller|older|newer)\b",
        ("it is no error", "Commands such as `/add` are no turns.", "the file that was no link"),
        ("there is no error", "There still are no turns.", "it is no longer there", "it is no more than a note", "with no error"),
    ),
    "no longer, nothing else, further": (
        r"\b(?:any|no) ?more\b",
        r"\b(?:any|no) more (?:than|of)\b",
        ("not possible any more", "it exists no more", "nobody needs it anymore"),
        ("no more than ten", "any more than a link", "many more"),
    ),
    "is paused": (
        r"\b(?:stands?|stood|standing) still\b",
        "",
        ("the program stands still", "a line that stood still"),
        ("it stands there", "it still stands"),
    ),
    "reverts, replaces, undoes": (
        rf"\b{TAKE} (?:(?!part\b)\w+ )?(?:back|over)\b",
        "",
        ("it takes it back", "the user took over", "what is taken back"),
        ("take the next one", "it takes part over and over"),
    ),
    "continues": (
        r"\b(?:go|goes|went|gone|going) on\b",
        "",
        ("the agent goes on", "to go on without it"),
        ("the agent continues", "going only there"),
    ),
    "is reported, learns": (
        rf"\b{BE} (?:not |then |also )?told\b",
        rf"\b{BE} told apart\b",
        ("the model is told", "who was not told"),
        ("the model gets the reason", "they are told apart by their names"),
    ),
    "its own": (
        r"\bof (?:its|their|his|her|your|our|my|one's) own\b",
        "",
        ("a directory of its own", "rules of their own"),
        ("its own directory", "of its owner"),
    ),
    "client": (
        r"\b[Ff]aces?\b",
        r"\b[Tt]ype ?faces?\b|\bin (?:the )?face of\b",
        ("each face shows it", "Faces"),
        ("each client shows it", "the interface", "surface"),
    ),
    "record, release": (
        r"\b(?:put down|puts down|(?:let|lets|letting) (?:\w+ ){0,3}go)\b",
        "",
        ("it is put down", "to let the lock go", "lets go"),
        ("put it there", "let it be"),
    ),
    "conflicts with, restored, redone": (
        rf"\bcollid(?:e|es|ed|ing) with\b|\b{BE} merged with what came\b|\bDone again\b|\bBranch \S+ begins there\b",
        "",
        ("it collides with your edits", "Done again", "Branch idea2 begins there"),
        ("it conflicts with your edits", "Redone"),
    ),
    "restored": (
        rf"\b{BE} put back\b",
        "",
        ("`src/cart.ts` is put back",),
        ("`src/cart.ts` is restored", "put back into the set"),
    ),
}
RULES = {name: (re.compile(words), re.compile(right or r"(?!)", re.I)) for name, (words, right, _, _) in REPLACED.items()}


class Passage:
    """A passage as one text without code, which knows the line of each place."""

    def __init__(self, path, lines):
        self.path, self.text, self.starts = path, "", []
        for number, part in lines:
            self.starts.append((len(self.text), number))
            self.text += part + " "
        # code counts as one word, and has no words for people
        self.words = CODE.sub(lambda code: "`" + "x" * (len(code.group()) - 2) + "`", self.text)

    def at(self, place):
        number = max(start for start in self.starts if start[0] <= place)[1]
        return f"{self.path}:{number} {self.text[max(place, 0):].strip()[:80]}"

    def hidden_subjects(self):
        places = [0] if OPENING.match(self.text) else []
        places += [found.end() for found in SENTENCE.finditer(self.text)]
        return [self.at(place) for place in places]

    def long(self):
        """The sentences with more than MAX_WORDS words."""
        ends = [found.end() for found in END.finditer(self.words)]
        for start, end in zip([0, *ends], [*ends, len(self.words)]):
            count = sum(bool(re.search(r"\w", word)) for word in self.words[start:end].split())
            if count > MAX_WORDS:
                yield f"{self.at(start)} ({count} words)"

    def replaced(self):
        """The words that contributing.md replaces."""
        for name, (words, right) in RULES.items():
            text = right.sub(lambda found: "x" * len(found.group()), self.words)
            for found in words.finditer(text):
                yield f"{self.at(found.start())[:110]} -> {name}"


def misread():
    """Examples that their rule reads wrongly."""
    for name, (_, _, wrong, right) in REPLACED.items():
        found = {text: any(place.endswith(f"-> {name}") for place in Passage("", [(1, text)]).replaced()) for text in wrong + right}
        yield from (f"{name}: {text}" for text in wrong if not found[text])
        yield from (f"{name}: {text}" for text in right if found[text])
    of_25, of_26 = " ".join(["Word"] * 25) + ".", "One `of code` " + " ".join(["word"] * 24) + "."
    if [text for text in (of_25, f"{of_25} {of_25}", of_26) if list(Passage("", [(1, text)]).long())] != [of_26]:
        yield "long sentences"
    hiding, plain = ("Of these it has one.", "It is. What it does, nobody knows."), ("These are of use.", "True if it is.")
    if [text for text in hiding + plain if Passage("", [(1, text)]).hidden_subjects()] != list(hiding):
        yield "hidden subjects"
