// Changed files of a step, as one comparison of all of them.

import * as vscode from "vscode";

import { inform } from "../show/outside.ts";
import { TYPE } from "./jobs.ts";
import type { JobSessions } from "./sessions.ts";

/** The answer to the request `backstitchChanges`. A reference of 0: the file is not there. */
type Changes = {
  title: string;
  files: { path: string; status: "added" | "modified" | "deleted"; before: number; after: number }[];
};

/** The argument of a command in the menu of a frame. */
type FrameContext = { frameId?: string; sessionId?: string };

/** Shows the changes of the step of a frame, or else of the last step. */
export async function showChanges(sessions: JobSessions, argument: unknown): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== TYPE) throw new Error(vscode.l10n.t("No CI job is debugged"));
  const frameId = frameOf(sessions, session, argument);
  const answer: unknown = await session.customRequest(
    "backstitchChanges",
    frameId === undefined ? {} : { frameId },
  );
  const { title, files } = answer as Changes;
  if (files.length === 0) {
    await inform(vscode.l10n.t("The step changed no files"));
    return;
  }
  const uri = (path: string, sourceReference: number) =>
    sourceReference === 0
      ? undefined
      : vscode.debug.asDebugSourceUri({ path, name: path, sourceReference }, session);
  const resources = files.map(({ path, before, after }) => {
    const [original, modified] = [uri(path, before), uri(path, after)];
    return [modified ?? original, original, modified];
  });
  await vscode.commands.executeCommand("vscode.changes", title, resources);
}

/** The frame that the menu is of, else the one that is selected. */
function frameOf(sessions: JobSessions, session: vscode.DebugSession, argument: unknown): number | undefined {
  const { frameId, sessionId } = (argument ?? {}) as FrameContext;
  // VS Code names a frame in a menu by its place in the list
  const place = /^stackframe:.*:(\d+):/.exec(frameId ?? "")?.[1];
  if (place !== undefined && sessionId === session.id) {
    return sessions.get(session)?.frames[Number(place)]?.id;
  }
  const item = vscode.debug.activeStackItem;
  return item instanceof vscode.DebugStackFrame && item.session.id === session.id ? item.frameId : undefined;
}
