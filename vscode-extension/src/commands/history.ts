// Commands that write history but no files: fork, tag, pin, checkpoint; and the menu of the status bar.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import * as conversation from "../restore/conversation.ts";
import { type Commands, shown } from "../server/protocol.ts";
import { failure, message } from "../show/errors.ts";
import { point, titleOf } from "../show/words.ts";
import { busy } from "../show/progress.ts";
import { inform } from "../show/outside.ts";

export async function fork(ctx: Ctx, typed: Commands["backstitch.fork"]["params"]): Promise<void> {
  const say = vscode.l10n.t;
  const name =
    typed.name ??
    (await vscode.window.showInputBox({
      title: say("Fork from {0}", await nameOf(ctx, typed)),
      prompt: say("Name of the new branch; leave it empty for a generated one"),
      validateInput: (text) =>
        /^[^\s~^:?*[\\]*$/.test(text) ? undefined : say("No spaces, and none of ~ ^ : ? * [ \\"),
    }));
  if (name === undefined) return;
  const forked = await ctx.execute("backstitch.fork", {
    ...typed,
    name: name === "" ? null : name,
    confirm: false,
  });
  reportFork(forked, typed);
}

/** Forks into a new directory. */
export async function forkInto(ctx: Ctx, typed: Commands["backstitch.fork"]["params"]): Promise<void> {
  const say = vscode.l10n.t;
  const [parent] =
    (await vscode.window.showOpenDialog({
      title: say("Select the parent of the new directory"),
      openLabel: say("Create It Here"),
      canSelectFiles: false,
      canSelectFolders: true,
    })) ?? [];
  if (parent === undefined) return;
  const name = await vscode.window.showInputBox({
    title: say("Fork from {0}", await nameOf(ctx, typed)),
    prompt: say("Name of the new directory in {0}", parent.fsPath),
    validateInput: (text) =>
      /^(?!\.{1,2}$)[^/\\]+$/.test(text) ? undefined : say("A name without / and \\"),
  });
  if (name === undefined) return;
  const into = vscode.Uri.joinPath(parent, name).fsPath;
  const forked = await busy(say("Filling the directory"), (token) =>
    ctx.execute("backstitch.fork", { ...typed, into, confirm: false }, token),
  );
  reportFork(forked, typed);
}

/** The state that a revision names, by its prompt: `before “make it two”`. */
async function nameOf(ctx: Ctx, typed: Commands["backstitch.fork"]["params"]): Promise<string> {
  const say = vscode.l10n.t;
  const rev = typed.rev ?? "@";
  if (rev === "@") return point(rev, say);
  const place =
    typeof typed.workspace === "string" ? { workspace: typed.workspace } : { uri: typed.uri ?? null };
  const found = await ctx.request("backstitch/checkpoint", { ...place, rev }).catch(() => undefined);
  if (found === undefined) return point(rev, say);
  return [found.kind === "turn" ? say("before") : "", titleOf(found, say)].filter(Boolean).join(" ");
}

type Forked = Exclude<Commands["backstitch.fork"]["result"], { error: unknown }>;

function reportFork(forked: Forked, typed: Commands["backstitch.fork"]["params"]): void {
  const say = vscode.l10n.t;
  if (forked.conversation) conversation.offer(forked.conversation);
  const goThere = say("Switch to it");
  const open = say("Open it");
  const into = forked.into === undefined ? undefined : shown(forked.into);
  const said =
    into === undefined
      ? say("Created branch {0}", forked.branch.name)
      : say("Created branch {0} in {1}", forked.branch.name, into);
  void inform(said, into === undefined ? goThere : open).then(async (chosen) => {
    const place =
      typeof typed.workspace === "string" ? { workspace: typed.workspace } : { uri: typed.uri ?? null };
    if (chosen === goThere) {
      await vscode.commands.executeCommand("backstitch.switch", { ...place, branch: forked.branch.name });
    } else if (chosen === open && into !== undefined) {
      await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(into), {
        forceNewWindow: true,
      });
    }
  });
}

/** Title of the checkpoint, for messages. */
type Titled = { title?: string };

export async function tag(
  ctx: Ctx,
  { title, ...typed }: Commands["backstitch.tag"]["params"] & Titled,
): Promise<void> {
  const say = vscode.l10n.t;
  const named = title === undefined ? point(typed.rev ?? "@", say) : `“${title}”`;
  const make = (name: string) => ctx.execute("backstitch.tag", { ...typed, name });
  const tagged =
    typeof typed.name !== "string"
      ? await asked({ title: say("Tag {0}", named), prompt: say("Name of the tag") }, make)
      : await make(typed.name);
  if (tagged === undefined) return;
  const what = title === undefined ? tagged.checkpoint : `“${title}”`;
  void inform(say("{0} is tagged {1}", what, tagged.tag));
}

/** Asks for a name and uses it. A name that is refused stays in the box, with the reason. */
async function asked<T>(
  { title, prompt }: { title: string; prompt: string },
  use: (name: string) => Promise<T>,
): Promise<T | undefined> {
  const box = vscode.window.createInputBox();
  box.title = title;
  box.prompt = prompt;
  try {
    return await new Promise<T | undefined>((resolve, reject) => {
      const accept = async () => {
        if (box.value === "" || box.busy) return;
        box.busy = true;
        try {
          resolve(await use(box.value));
        } catch (error) {
          const kind = failure(error)?.kind;
          if (kind !== "usage" && kind !== "refused") throw error;
          box.validationMessage = message(error);
        }
        box.busy = false;
      };
      box.onDidAccept(() => {
        accept().catch(reject);
      });
      box.onDidChangeValue(() => {
        box.validationMessage = undefined;
      });
      box.onDidHide(() => {
        resolve(undefined);
      });
      box.show();
    });
  } finally {
    box.dispose();
  }
}

export async function pin(
  ctx: Ctx,
  { title, ...typed }: Commands["backstitch.pin"]["params"] & Titled,
): Promise<void> {
  const say = vscode.l10n.t;
  const done = await ctx.execute("backstitch.pin", typed);
  const what = title === undefined ? done.checkpoint : `“${title}”`;
  void inform(done.pinned ? say("{0} is pinned", what) : say("{0} is no longer pinned", what));
}

export async function checkpoint(
  ctx: Ctx,
  typed: Commands["backstitch.checkpoint"]["params"],
): Promise<void> {
  const say = vscode.l10n.t;
  const label =
    typed.label ??
    (await vscode.window.showInputBox({
      title: say("Checkpoint"),
      prompt: say("Label; leave it empty for none"),
    }));
  if (label === undefined) return;
  const made = await ctx.execute("backstitch.checkpoint", { ...typed, label: label === "" ? null : label });
  void inform(say("Created checkpoint {0}", made.id));
}

/** Menu of the status bar. */
export async function menu(ctx: Ctx): Promise<void> {
  const say = vscode.l10n.t;
  const rows: (vscode.QuickPickItem & { command: string })[] = [
    { label: `$(history) ${say("Show the timeline")}`, command: "backstitch.timeline" },
    { label: `$(type-hierarchy) ${say("Show branches and forks")}`, command: "backstitch.graph" },
    { label: `$(checklist) ${say("Review agent changes")}`, command: "backstitch.review" },
    { label: `$(discard) ${say("Rewind the last turn")}`, command: "backstitch.undoTurn" },
    { label: `$(discard) ${say("Rewind…")}`, command: "backstitch.rewind" },
    { label: `$(reply) ${say("Undo the last rewind")}`, command: "backstitch.undo" },
    { label: `$(bookmark) ${say("Make a checkpoint")}`, command: "backstitch.checkpoint" },
    { label: `$(diff) ${say("Show changes since a checkpoint")}`, command: "backstitch.quickDiff.choose" },
    { label: `$(git-branch) ${say("Switch to another branch…")}`, command: "backstitch.switch" },
    { label: `$(debug-pause) ${say("Pause an agent at its next call")}`, command: "backstitch.pause" },
    { label: `$(debug-breakpoint) ${say("Add an agent breakpoint…")}`, command: "backstitch.breakpoint.add" },
    { label: `$(terminal) ${say("Show REPLs")}`, command: "backstitch.repl.list" },
    { label: `$(plug) ${say("Set up agents…")}`, command: "backstitch.setup" },
    { label: `$(output) ${say("Show the log")}`, command: "backstitch.server.log" },
  ];
  const notRunning = [
    { label: `$(folder-opened) ${say("Select the executable…")}`, command: "backstitch.server.choose" },
    { label: `$(debug-restart) ${say("Restart the language server")}`, command: "backstitch.server.restart" },
    ...rows.slice(-1),
  ];
  const usable = ctx.state.name === "running" ? rows : notRunning;
  const chosen = await vscode.window.showQuickPick(usable, { title: "Backstitch" });
  if (chosen !== undefined) await vscode.commands.executeCommand(chosen.command);
}
