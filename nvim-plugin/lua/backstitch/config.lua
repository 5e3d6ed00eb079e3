--- Settings of the plugin: their names, defaults and the user's values. The help is generated from them.
local M = {}

---@class backstitch.Option
---@field key string Path with dots.
---@field type string|(string|false)[] Result of `type()`, or a list of the allowed values.
---@field default any
---@field min? integer Minimum of a number; 0 by default.
---@field desc string

---@class backstitch.Config
---@field cmd string[]
---@field codelens boolean
---@field reload boolean
---@field settings backstitch.ClientOptions
---@field agents { avante: boolean, codecompanion: boolean }
---@field signs 'turn'|false
---@field review { layout: 'inline'|'split' }
---@field blame { enabled: boolean, delay: integer }
---@field diff { signs: boolean, words: boolean }
---@field pauses { open: boolean }
---@field timeline { position: 'left'|'right'|'below'|'tab', size: integer, preview: boolean, keys: table<string, string|false> }

--- Actions of the timeline with their default keys.
---@type { name: string, key: string, desc: string }[]
M.TIMELINE_KEYS = {
  { name = 'toggle', key = '<Tab>', desc = 'Fold or unfold the row (also |za|, |zo|, |zc|, |zM| and |zR|).' },
  {
    name = 'open',
    key = '<CR>',
    desc = 'On a file: open it with the changes since before this step marked. Elsewhere the same as `toggle`.',
  },
  { name = 'preview', key = 'p', desc = 'Show the changes of the row in a float.' },
  { name = 'live', key = 'gp', desc = 'Show the changes of each row as the cursor moves, or stop that.' },
  { name = 'diff', key = 'd', desc = 'Show the differences between the state of the row and now.' },
  {
    name = 'rewind',
    key = 'r',
    desc = 'Rewind to before this turn, or to after this step. The plan is shown first.',
  },
  {
    name = 'revert',
    key = 'x',
    desc = 'Undo the changes of this turn, this step, or this file of a step, and keep later ones.',
  },
  { name = 'undo', key = 'u', desc = 'Undo the last rewind.' },
  { name = 'redo', key = '<C-R>', desc = 'Redo the operation that was undone last.' },
  { name = 'fork', key = 'f', desc = 'Create a branch that starts before this turn, or after this step.' },
  { name = 'switch', key = 's', desc = 'Switch to the branch.' },
  { name = 'tag', key = 't', desc = 'Tag the state of the row.' },
  { name = 'pin', key = 'P', desc = 'Pin the checkpoint, so that it is never pruned, or unpin it.' },
  { name = 'checkpoint', key = 'c', desc = 'Make a checkpoint now.' },
  { name = 'all', key = '<BS>', desc = 'Clear the filter: show all checkpoints again.' },
  { name = 'more', key = 'm', desc = 'Load older rows.' },
  { name = 'refresh', key = 'R', desc = 'Reload the timeline.' },
  { name = 'help', key = 'g?', desc = 'List these keys.' },
  { name = 'close', key = 'q', desc = 'Close the timeline.' },
}

local keys = {}
for _, each in ipairs(M.TIMELINE_KEYS) do
  keys[each.name] = each.key
end

---@type backstitch.Option[]
M.OPTIONS = {
  {
    key = 'cmd',
    type = 'table',
    default = { 'backstitch', 'lsp' },
    desc = 'Command that starts the language server. Its first word may be the path of the binary.',
  },
  {
    key = 'codelens',
    type = 'boolean',
    default = true,
    desc = "Draw Backstitch's lenses; those of other servers are not affected. `settings.codeLens` selects the lines.",
  },
  {
    key = 'reload',
    type = 'boolean',
    default = true,
    desc = 'When an agent or a rewind writes a file, reload its buffer without a question unless you have changed it.'
      .. ' |undo| goes back to the text before the reload.',
  },
  {
    key = 'settings',
    type = 'table',
    default = vim.empty_dict(),
    desc = "The server's settings: `codeLens`, `capture`, `restore`, `store`, as in its `settings.md`. A"
      .. ' `.backstitch.toml` in the workspace can only limit recording or extend retention.',
  },
  {
    key = 'diff.signs',
    type = 'boolean',
    default = true,
    desc = 'Show signs beside the lines of an inline diff.',
  },
  {
    key = 'diff.words',
    type = 'boolean',
    default = true,
    desc = 'Mark the words that differ in an inline diff.',
  },
  {
    key = 'signs',
    type = { false, 'turn' },
    default = false,
    desc = 'With `"turn"`: show signs beside the lines that changed since the last turn, in every file as it opens. All'
      .. ' commands of an inline diff work there.',
  },
  {
    key = 'review.layout',
    type = { 'inline', 'split' },
    default = 'inline',
    desc = 'Show the files of |:Backstitch-review| with marks, or side by side.',
  },
  {
    key = 'blame.enabled',
    type = 'boolean',
    default = false,
    desc = 'Show the author at the end of the current line as soon as Neovim starts. |:Backstitch-blame| toggles it.',
  },
  {
    key = 'blame.delay',
    type = 'number',
    default = 150,
    desc = 'Milliseconds that the cursor rests before the author is shown.',
  },
  {
    key = 'pauses.open',
    type = 'boolean',
    default = false,
    desc = 'Show |:Backstitch-pauses| below your windows when a call of an agent is held. The cursor stays where it is.',
  },
  {
    key = 'timeline.position',
    type = { 'left', 'right', 'below', 'tab' },
    default = 'right',
    desc = 'Position of the timeline window. On a narrow screen it is always below.',
  },
  {
    key = 'timeline.size',
    type = 'number',
    default = 60,
    min = 1,
    desc = 'Width of the timeline in columns, or its height in lines if it is `below`: half of the screen at most.',
  },
  {
    key = 'timeline.preview',
    type = 'boolean',
    default = false,
    desc = 'Show the changes of each row as the cursor moves in the timeline.',
  },
  {
    key = 'timeline.keys',
    type = 'table',
    default = keys,
    desc = 'Keys of the timeline by action; `false` maps none. |backstitch-timeline| lists them.',
  },
  {
    key = 'agents.avante',
    type = 'boolean',
    default = true,
    desc = 'Record the turns of avante.nvim.',
  },
  {
    key = 'agents.codecompanion',
    type = 'boolean',
    default = true,
    desc = 'Record the turns of codecompanion.nvim.',
  },
}

---@param options table
---@param key string
local function value_of(options, key)
  return vim.tbl_get(options, unpack(vim.split(key, '.', { plain = true })))
end

---@return backstitch.Config
local function defaults()
  local all = {} ---@type any
  for _, option in ipairs(M.OPTIONS) do
    local here, parts = all, vim.split(option.key, '.', { plain = true })
    for i = 1, #parts - 1 do
      here[parts[i]] = here[parts[i]] or {}
      here = here[parts[i]]
    end
    here[parts[#parts]] = vim.deepcopy(option.default)
  end
  return all
end

--- Element types of options that are tables.
---@type table<string, string[]>
local ELEMENTS = { cmd = { 'string' }, ['timeline.keys'] = { 'string', 'boolean' } }

---@param option backstitch.Option
---@param value any
---@return string? wrong
local function validate(option, value)
  if type(option.type) == 'table' then
    local known = vim.tbl_map(tostring, option.type --[[@as table]])
    if
      not vim.list_contains(option.type --[[@as table]], value)
    then
      return ('%s is %s: it must be one of %s'):format(option.key, vim.inspect(value), table.concat(known, ', '))
    end
  elseif type(value) ~= option.type then
    return ('%s is a %s: it must be a %s'):format(option.key, type(value), option.type)
  elseif option.type == 'number' and (value < (option.min or 0) or value % 1 ~= 0) then
    return ('%s is %s: it must be a whole number, %d or more'):format(option.key, value, option.min or 0)
  end
  local elements = ELEMENTS[option.key]
  for name, element in pairs(elements and value or {}) do
    if not vim.list_contains(elements, type(element)) or element == true then
      return ('%s.%s is %s: it must be %s'):format(
        option.key,
        name,
        vim.inspect(element),
        table.concat(elements, ' or '):gsub('boolean', 'false'):gsub('string', 'a string')
      )
    end
  end
end

--- Collects the names in `given` that are not options.
---@param given table
---@param within string
---@param wrong string[]
local function find_unknown(given, within, wrong)
  for name, value in pairs(given) do
    local key = within .. name
    local is_option, is_group = false, false
    for _, option in ipairs(M.OPTIONS) do
      is_option = is_option or option.key == key
      is_group = is_group or vim.startswith(option.key, key .. '.')
    end
    if is_group and type(value) == 'table' then
      find_unknown(value, key .. '.', wrong)
    elseif is_group then
      table.insert(
        wrong,
        ('%s is a %s: it must be a table of options, as in :help backstitch-options'):format(key, type(value))
      )
    elseif not is_option then
      table.insert(wrong, ('%s is not an option: see :help backstitch-options'):format(key))
    end
  end
end

---@type backstitch.Config?
local current
---@type string[]
M.problems = {}

--- Sets the user's options. Reports each wrong value in one line and uses its default.
---@param given table
function M.set(given)
  local wrong = {}
  if type(given) ~= 'table' then
    wrong, given = { ('the configuration is a %s: it must be a table'):format(type(given)) }, {}
  end
  find_unknown(given, '', wrong)
  local all = defaults()
  for _, option in ipairs(M.OPTIONS) do
    local value = value_of(given, option.key)
    local problem = value ~= nil and validate(option, value)
    if problem then
      table.insert(wrong, problem)
    elseif value ~= nil then
      local parts = vim.split(option.key, '.', { plain = true })
      local here = all
      for i = 1, #parts - 1 do
        here = here[parts[i]]
      end
      local last = parts[#parts]
      local is_map = type(value) == 'table' and not vim.islist(value)
      here[last] = is_map and vim.tbl_extend('force', here[last], value) or value
    end
  end
  for name in pairs(all.timeline.keys) do
    if keys[name] == nil then
      table.insert(wrong, ('timeline.keys.%s is not an action: see :help backstitch-timeline'):format(name))
    end
  end
  for _, problem in ipairs(wrong) do
    require('backstitch.notice').say('backstitch: ' .. problem, vim.log.levels.WARN)
  end
  M.problems = wrong
  current = all
end

---@return backstitch.Config
function M.get()
  if not current then
    M.set(vim.g.backstitch or {})
  end
  return assert(current)
end

return M
