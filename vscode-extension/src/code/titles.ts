// Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests generated

import { l10n } from "vscode";

/** Title of a link to the state before a turn, as its lens has it. */
export const rewindToHere = (): string => l10n.t("Rewind to here");
