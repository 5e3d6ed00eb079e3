// Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests generated

import { l10n } from "vscode";

/** A parameter of a kind, as a person types it. */
export interface KindField {
  name: string;
  help: string;
  example: string;
  form: "text" | "paths" | "lines" | "number" | "flag" | "choice";
  choices: string[];
  required: boolean;
}

/** A kind of breakpoint. */
export interface Kind {
  name: string;
  summary: string;
  fields: KindField[];
}

export const kinds = (): Kind[] => [
  {
    name: "tool",
    summary: l10n.t("Calls of a tool"),
    fields: [
      {
        name: "name",
        help: l10n.t("Name of the tool, or a glob"),
        example: "Edit",
        form: "text",
        choices: [],
        required: true,
      },
      {
        name: "condition",
        help: l10n.t("Regular expression that the tool's input has to match"),
        example: "src/auth",
        form: "text",
        choices: [],
        required: false,
      },
    ],
  },
  {
    name: "path",
    summary: l10n.t("Calls that name or change a matching file; reading ones, too"),
    fields: [
      {
        name: "glob",
        help: l10n.t("File, directory, or glob, relative to the workspace: `src/auth/**`. The name of a file that exists is taken literally"),
        example: "src/auth/**",
        form: "paths",
        choices: [],
        required: true,
      },
      {
        name: "edits",
        help: l10n.t("Not calls that only read"),
        example: "",
        form: "flag",
        choices: [],
        required: false,
      },
    ],
  },
  {
    name: "line",
    summary: l10n.t("Edits of these lines; the range moves with the text"),
    fields: [
      {
        name: "place",
        help: l10n.t("File and lines: `src/auth.rs:10-20`"),
        example: "src/auth.rs:10-20",
        form: "lines",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "content",
    summary: l10n.t("Edits that add a line which matches"),
    fields: [
      {
        name: "regex",
        help: l10n.t("Regular expression"),
        example: "console\\.log",
        form: "text",
        choices: [],
        required: true,
      },
      {
        name: "path",
        help: l10n.t("Only in files that match this glob"),
        example: "src/**",
        form: "paths",
        choices: [],
        required: false,
      },
    ],
  },
  {
    name: "pattern",
    summary: l10n.t("Calls whose input matches, whatever the case of letters"),
    fields: [
      {
        name: "regex",
        help: l10n.t("Regular expression"),
        example: "password",
        form: "text",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "command",
    summary: l10n.t("Shell commands with these words and options, in any order and spelling"),
    fields: [
      {
        name: "text",
        help: l10n.t("Words, as `rm -rf`, or a regular expression on the text between slashes: `/rm +-rf/`"),
        example: "rm -rf",
        form: "text",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "iteration",
    summary: l10n.t("The call with this number in its session"),
    fields: [
      {
        name: "number",
        help: l10n.t("Number, from 1"),
        example: "20",
        form: "number",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "turn",
    summary: l10n.t("The first call of this turn"),
    fields: [
      {
        name: "number",
        help: l10n.t("Turn: t4, or 4"),
        example: "t4",
        form: "text",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "function",
    summary: l10n.t("Calls of a function that a program watches"),
    fields: [
      {
        name: "name",
        help: l10n.t("`module.function`, `function`, or a glob"),
        example: "shop.total",
        form: "text",
        choices: [],
        required: true,
      },
    ],
  },
  {
    name: "error",
    summary: l10n.t("Failed calls, before the model sees the error"),
    fields: [
      {
        name: "tool",
        help: l10n.t("Only of this tool; a name, or a glob"),
        example: "Bash",
        form: "text",
        choices: [],
        required: false,
      },
    ],
  },
  {
    name: "budget",
    summary: l10n.t("The next call of a turn that has used up a budget"),
    fields: [
      {
        name: "of",
        help: l10n.t("Unit that is counted"),
        example: "calls",
        form: "choice",
        choices: ["calls", "files", "lines", "minutes", "tokens"],
        required: true,
      },
      {
        name: "limit",
        help: l10n.t("The limit"),
        example: "50",
        form: "number",
        choices: [],
        required: true,
      },
    ],
  },
];
