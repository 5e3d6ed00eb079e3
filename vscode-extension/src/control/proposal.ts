// Rewinds that agents propose: shown as a plan, carried out or denied as a whole.

import * as vscode from "vscode";

import type { Ctx } from "../ctx.ts";
import type { Restores } from "../restore/restores.ts";
import {
  type Operation,
  type Pause,
  type PauseDetails,
  type PlanParams,
  type PlanResult,
  type PredictedFile,
  shown,
} from "../server/protocol.ts";
import { withErrors } from "../show/errors.ts";
import type { PlanEditor } from "../show/plan.ts";
import { busy } from "../show/progress.ts";
import { line, sentence } from "../show/words.ts";
import { inform } from "../show/outside.ts";

/** The input of a proposal, as the server stores it. */
type Proposed = { title?: string; reason?: string | null; summary?: string[]; arguments?: unknown };
/** Arguments of the tool that a plan knows. */
type Arguments = {
  rev?: string;
  paths?: string[];
  hunks?: string[];
  exact?: boolean;
  session?: string;
  all_sessions?: boolean;
  uncertain?: "keep" | "take";
};

/** Time in which the news of a rewind arrives, in milliseconds. */
const NEWS = 5_000;

export class Proposals {
  /** The proposal whose plan is open. */
  private open: { id: string; root: string } | undefined;

  constructor(
    private readonly ctx: Ctx,
    private readonly plans: PlanEditor,
    private readonly restores: Restores,
  ) {}

  /** Shows the plan. It decides only by its buttons: to close it leaves the proposal as it is. */
  show(details: PauseDetails): void {
    const { pause } = details;
    void withErrors(async () => {
      const plan = await this.plan(details);
      this.open = { id: pause.id, root: shown(pause.root) };
      const decision = await this.plans.decide({ verb: "proposal", plan, ways: [], only: undefined });
      if (this.isOpen(pause)) this.open = undefined;
      if (decision === undefined) return;
      if ("denied" in decision) await vscode.commands.executeCommand("backstitch.deny", about(pause));
      else await this.accept(pause);
    });
  }

  /** Closes the plan of a proposal that is over. */
  end(pause: Pause): void {
    if (!this.isOpen(pause)) return;
    this.open = undefined;
    this.plans.cancel();
  }

  private isOpen(pause: Pause): boolean {
    return this.open?.id === pause.id && this.open.root === shown(pause.root);
  }

  async accept(pause: Pause): Promise<unknown> {
    const say = vscode.l10n.t;
    const news = this.news(shown(pause.root));
    this.end(pause);
    try {
      const done = await busy(say("Restoring files"), () =>
        this.ctx.execute("backstitch.resume", about(pause)),
      );
      // not awaited: the command has finished, and the message may stay open
      void news.rewound().then((operation) => {
        this.report(pause, operation);
      });
      return done;
    } catch (error) {
      news.stop();
      throw error;
    }
  }

  private report(pause: Pause, operation: Operation | undefined): void {
    const say = vscode.l10n.t;
    const count = operation?.files ?? pause.files.length;
    const files = count === 1 ? say("1 file") : say("{0} files", count);
    const undo = say("Undo");
    const workspace = shown(pause.root);
    void inform(`${say("Rewound")}: ${files}`, undo).then((chosen) => {
      if (chosen === undefined) return;
      const op = operation === undefined ? {} : { op: operation.id };
      void withErrors(() => this.restores.run("backstitch.undo", { workspace, ...op }, true), workspace);
    });
  }

  /** Awaits the rewind that comes of a proposal. */
  private news(root: string): { rewound: () => Promise<Operation | undefined>; stop: () => void } {
    let stop = () => undefined;
    const arrived = new Promise<Operation | undefined>((resolve) => {
      const listener = this.ctx.on("backstitch/didRewind", ({ workspace, operation }) => {
        if (shown(workspace) !== root || operation.kind !== "rewind") return;
        listener.dispose();
        resolve(operation);
      });
      stop = () => {
        listener.dispose();
        resolve(undefined);
        return undefined;
      };
    });
    const rewound = () => {
      const timer = setTimeout(stop, NEWS);
      return arrived.finally(() => {
        clearTimeout(timer);
      });
    };
    return { rewound, stop };
  }

  /** The plan as it is now, if it is the proposed one; else as it was proposed. The reason of the agent comes first. */
  private async plan(details: PauseDetails): Promise<PlanResult> {
    const say = vscode.l10n.t;
    const { pause, fingerprint } = details;
    const proposed = (details.input ?? {}) as Proposed;
    const reason = line(proposed.reason ?? "", 300);
    const now = await this.ctx.request("backstitch/plan", asked(pause, proposed)).catch(() => undefined);
    const isSame = now?.plan === fingerprint;
    const plan = isSame ? now : stored(details, proposed);
    const by =
      reason === ""
        ? say("{0} proposes it", pause.agent)
        : say("{0} proposes it: “{1}”", pause.agent, reason);
    const changed = say("Files have changed since: this is the plan as it was proposed.");
    return {
      ...plan,
      title: say("Proposed: {0}", sentence(proposed.title ?? plan.title)),
      summary: [by, ...(isSame || now === undefined ? [] : [changed]), ...plan.summary],
    };
  }
}

function about(pause: Pause): { pause: string; workspace: string } {
  return { pause: pause.id, workspace: shown(pause.root) };
}

/** The plan that the agent asked for, as the server plans it. */
function asked(pause: Pause, { arguments: given }: Proposed): PlanParams {
  const { rev, paths, hunks, exact, session, all_sessions, uncertain } = (given ?? {}) as Arguments;
  return {
    workspace: shown(pause.root),
    rev: rev ?? "@turn",
    texts: true,
    ...(paths === undefined || paths.length === 0 ? {} : { paths }),
    ...(hunks === undefined || hunks.length === 0 ? {} : { hunks }),
    ...(exact === undefined ? {} : { exact }),
    ...(session === undefined ? {} : { session }),
    ...(all_sessions === undefined ? {} : { allSessions: all_sessions }),
    ...(uncertain === undefined ? {} : { uncertain }),
  };
}

/** The plan as it was proposed, from the files that it names. */
function stored({ predicted, fingerprint, input }: PauseDetails, { title, summary }: Proposed): PlanResult {
  const kind = ({ letter }: PredictedFile) =>
    letter === "A" ? ("create" as const) : letter === "D" ? ("delete" as const) : ("write" as const);
  const from = ({ movedFrom }: PredictedFile) => (movedFrom === null ? {} : { from: movedFrom });
  return {
    rev: null,
    target: "",
    scope: "code",
    actions: predicted.map((file) => ({
      path: file.path,
      action: kind(file),
      letter: file.letter,
      added: file.added,
      removed: file.removed,
      ...from(file),
    })),
    conflicts: [],
    gaps: [],
    takes: [],
    stays: [],
    own_edits: [],
    plan: fingerprint,
    title: title ?? "",
    sentence: sentence(title ?? ""),
    summary: summary ?? [],
    empty: input === null,
    exact: false,
    other_sessions: false,
    texts: predicted
      .filter(
        ({ now, then, letter }) => (letter === "A" || now !== null) && (letter === "D" || then !== null),
      )
      .map((file) => ({ path: file.path, now: file.now, then: file.then, ...from(file) })),
  };
}
