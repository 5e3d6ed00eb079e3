"""An agent as a graph of nodes: plan, act, check, and again until the check is content. Each node takes the state and
returns its changes."""

import sys

import backstitch_debug as bs

TOOLS = {"read": lambda path: f"text of {path}", "count": len, "shout": str.upper}


def plan(state):
    if state["round"] == 0:
        return {"plan": ["read notes.txt"], "round": 1}
    steps = [step for step in state["plan"] if step != "count"]
    return {"plan": [*steps, "count"], "round": state["round"] + 1}


def act(state):
    value = None
    for step in state["plan"]:
        tool, _, argument = step.partition(" ")
        value = TOOLS[tool](argument or value)
    return {"result": value}


def check(state):
    return {"is_done": isinstance(state["result"], int) or state["round"] >= 3}


class Graph:
    def __init__(self, start):
        self.start, self.nodes, self.edges = start, {}, {}

    def node(self, function, following):
        self.nodes[function.__name__] = function
        self.edges[function.__name__] = following

    def run(self, state):
        name = self.start
        while name is not None:
            changes = bs.call(self.nodes[name], state)
            state.update(changes)
            print(f"{name}: {changes}", flush=True)
            name = self.edges[name](state)
        return state


graph = Graph("plan")
graph.node(plan, lambda state: "act")
graph.node(act, lambda state: "check")
graph.node(check, lambda state: None if state["is_done"] else "plan")
bs.on()
end = graph.run({"goal": "length of the notes", "round": 0})
print("end", end)
sys.exit(end["round"])
