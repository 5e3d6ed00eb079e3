// Messages about files that an agent changed on disk while their text here was not saved.

import * as vscode from "vscode";

import type { Ctx } from "./ctx.ts";
import { type Notifications, shown } from "./server/protocol.ts";
import { withErrors } from "./show/errors.ts";
import { warn } from "./show/outside.ts";

type Changed = Notifications["backstitch/changedOnDisk"];
type Offer = { title: string; command: string; argument: object };

/** Tells the user, with the ways to their text: it is kept at the checkpoint of the change. */
export function reportChangesOnDisk(ctx: Ctx): vscode.Disposable {
  return ctx.on("backstitch/changedOnDisk", (changed) => {
    if (!changed.unsaved || !isDirty(changed.uri)) return;
    const offers = offersFor(changed);
    void warn(sentence(changed), ...offers.map(({ title }) => title)).then((chosen) => {
      const offer = offers.find(({ title }) => title === chosen);
      if (offer === undefined) return undefined;
      const run = async () => vscode.commands.executeCommand(offer.command, offer.argument);
      return withErrors(run, shown(changed.workspace));
    });
  });
}

/** The server has the text of a document that VS Code has yet to reload; VS Code knows if anything was typed. */
function isDirty(uri: string): boolean {
  const name = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.some((open) => open.uri.toString() === name && open.isDirty);
}

function sentence(changed: Changed): string {
  const say = vscode.l10n.t;
  const path = vscode.Uri.parse(changed.uri).path;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const agent = changed.agent ?? say("An agent");
  if (changed.deleted) {
    return say("{0} deleted {1}, which is not saved here. Your text is kept.", agent, name);
  }
  if (changed.renamedTo !== undefined) {
    return say("{0} renamed {1}, which is not saved here. Your text is kept.", agent, name);
  }
  return say("{0} changed {1}, which is not saved here. Your text is kept.", agent, name);
}

function offersFor({ workspace, uri, checkpoint, deleted, renamedTo }: Changed): Offer[] {
  const say = vscode.l10n.t;
  const argument = { workspace: shown(workspace), uri, rev: checkpoint, unsaved: 1 };
  const isThere = deleted !== true && renamedTo === undefined;
  return [
    ...(isThere ? [{ title: say("Merge"), command: "backstitch.merge", argument: { uri } }] : []),
    ...(isThere ? [{ title: say("Compare"), command: "backstitch.compareKept", argument }] : []),
    { title: say("Show My Text"), command: "backstitch.showKept", argument },
  ];
}
