// An agent in TypeScript, run by Node as it is: Node strips the types.
import * as bs from "backstitch-debug";

interface State {
  goal: string;
  plan: string[];
  result?: number;
}

type Node<S> = (state: S) => Partial<S>;

const make: Node<State> = (state) => ({ plan: [...state.plan, `measure ${state.goal}`] });

function act(state: State): Partial<State> {
  return { result: state.plan.reduce<number>((sum, step) => sum + step.length, 0) };
}

async function run(state: State): Promise<State> {
  for (const node of [make, act] satisfies Node<State>[]) {
    const changes = bs.call(node, state);
    if (changes.constructor !== Object) throw new TypeError(`no plain object: ${changes}`);
    Object.assign(state, changes);
    console.log(node.name, JSON.stringify(state));
    await Promise.resolve();
    bs.pause(`after ${node.name}`, (source: string): unknown => eval(source));
  }
  return state;
}

bs.on();
const end: State = await run({ goal: "notes", plan: [] });
console.log("end", end.result! as number);
process.exitCode = 4;
