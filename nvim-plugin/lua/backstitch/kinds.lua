-- Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests generated

---@class backstitch.KindField
---@field name string
---@field help string
---@field example string
---@field form 'text'|'paths'|'lines'|'number'|'flag'|'choice'
---@field choices string[]
---@field required boolean

---@class backstitch.Kind
---@field name string
---@field summary string
---@field fields backstitch.KindField[]

---@type backstitch.Kind[]
return {
  {
    name = 'tool',
    summary = 'Calls of a tool',
    fields = {
      {
        name = 'name',
        help = 'Name of the tool, or a glob',
        example = 'Edit',
        form = 'text',
        choices = {},
        required = true,
      },
      {
        name = 'condition',
        help = "Regular expression that the tool's input has to match",
        example = 'src/auth',
        form = 'text',
        choices = {},
        required = false,
      },
    },
  },
  {
    name = 'path',
    summary = 'Calls that name or change a matching file; reading ones, too',
    fields = {
      {
        name = 'glob',
        help = 'File, directory, or glob, relative to the workspace: `src/auth/**`. The name of a file that exists is taken literally',
        example = 'src/auth/**',
        form = 'paths',
        choices = {},
        required = true,
      },
      {
        name = 'edits',
        help = 'Not calls that only read',
        example = '',
        form = 'flag',
        choices = {},
        required = false,
      },
    },
  },
  {
    name = 'line',
    summary = 'Edits of these lines; the range moves with the text',
    fields = {
      {
        name = 'place',
        help = 'File and lines: `src/auth.rs:10-20`',
        example = 'src/auth.rs:10-20',
        form = 'lines',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'content',
    summary = 'Edits that add a line which matches',
    fields = {
      {
        name = 'regex',
        help = 'Regular expression',
        example = 'console\\.log',
        form = 'text',
        choices = {},
        required = true,
      },
      {
        name = 'path',
        help = 'Only in files that match this glob',
        example = 'src/**',
        form = 'paths',
        choices = {},
        required = false,
      },
    },
  },
  {
    name = 'pattern',
    summary = 'Calls whose input matches, whatever the case of letters',
    fields = {
      {
        name = 'regex',
        help = 'Regular expression',
        example = 'password',
        form = 'text',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'command',
    summary = 'Shell commands with these words and options, in any order and spelling',
    fields = {
      {
        name = 'text',
        help = 'Words, as `rm -rf`, or a regular expression on the text between slashes: `/rm +-rf/`',
        example = 'rm -rf',
        form = 'text',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'iteration',
    summary = 'The call with this number in its session',
    fields = {
      {
        name = 'number',
        help = 'Number, from 1',
        example = '20',
        form = 'number',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'turn',
    summary = 'The first call of this turn',
    fields = {
      {
        name = 'number',
        help = 'Turn: t4, or 4',
        example = 't4',
        form = 'text',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'function',
    summary = 'Calls of a function that a program watches',
    fields = {
      {
        name = 'name',
        help = '`module.function`, `function`, or a glob',
        example = 'shop.total',
        form = 'text',
        choices = {},
        required = true,
      },
    },
  },
  {
    name = 'error',
    summary = 'Failed calls, before the model sees the error',
    fields = {
      {
        name = 'tool',
        help = 'Only of this tool; a name, or a glob',
        example = 'Bash',
        form = 'text',
        choices = {},
        required = false,
      },
    },
  },
  {
    name = 'budget',
    summary = 'The next call of a turn that has used up a budget',
    fields = {
      {
        name = 'of',
        help = 'Unit that is counted',
        example = 'calls',
        form = 'choice',
        choices = { 'calls', 'files', 'lines', 'minutes', 'tokens' },
        required = true,
      },
      {
        name = 'limit',
        help = 'The limit',
        example = '50',
        form = 'number',
        choices = {},
        required = true,
      },
    },
  },
}
