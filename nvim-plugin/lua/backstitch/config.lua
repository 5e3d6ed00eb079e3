--- The plugin's own settings: what there is, what it is unless said, and what the user said. The help is made of this.
local M = {}

---@class backstitch.Option
---@field key string With dots.
---@field type string|string[] As `type()` has it, or a list of the values.
---@field default any
---@field least? integer Of a number; 0 unless said.
---@field desc string

---@class backstitch.Config
---@field cmd string[]
---@field codelens boolean
---@field reload boolean
---@field settings backstitch.ClientOptions
---@field agents { avante: boolean, codecompanion: boolean }
---@field blame { enabled: boolean, delay: integer }
---@field diff { signs: boolean, words: boolean }
---@field timeline { position: 'left'|'right'|'below'|'tab', size: integer, keys: table<string, string|false> }

--- What a key does in the timeline, with the key unless said.
---@type { name: string, key: string, desc: string }[]
M.TIMELINE_KEYS = {
  { name = 'toggle', key = '<Tab>', desc = 'Fold or unfold the row (also |za|, |zo|, |zc|, |zM| and |zR|).' },
  {
    name = 'open',
    key = '<CR>',
    desc = 'On a file: show it inline, compared with the state before. Else as `toggle`.',
  },
  { name = 'preview', key = 'p', desc = 'Show what changed there, in a float.' },
  { name = 'diff', key = 'd', desc = 'Show what differs between that state and now.' },
  { name = 'rewind', key = 'r', desc = 'Rewind to that state; the plan is shown first.' },
  { name = 'revert', key = 'x', desc = 'Take back just this turn or step, and leave what came later.' },
  { name = 'undo', key = 'u', desc = 'Undo the last rewind.' },
  { name = 'redo', key = '<C-R>', desc = 'Do again what was undone last.' },
  { name = 'fork', key = 'f', desc = 'Begin a branch at that state.' },
  { name = 'switch', key = 's', desc = 'Go to the branch.' },
  { name = 'tag', key = 't', desc = 'Give that state a name.' },
  { name = 'pin', key = 'P', desc = 'Pin that checkpoint, so that it stays however old it becomes, or unpin it.' },
  { name = 'checkpoint', key = 'c', desc = 'Make a checkpoint of what is there now.' },
  { name = 'more', key = 'm', desc = 'Read older rows.' },
  { name = 'refresh', key = 'R', desc = 'Read the timeline anew.' },
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
    desc = 'How the language server is started. Its first word may be the path of the binary.',
  },
  {
    key = 'codelens',
    type = 'boolean',
    default = true,
    desc = 'Whether lenses are drawn; Neovim then draws those of other servers in the same buffers, too. What they are'
      .. ' about is up to `settings.codeLens`.',
  },
  {
    key = 'reload',
    type = 'boolean',
    default = true,
    desc = 'Whether buffers without changes of your own are read anew when an agent or a rewind wrote their file. Nothing'
      .. ' asks, and |undo| goes back beyond it.',
  },
  {
    key = 'settings',
    type = 'table',
    default = vim.empty_dict(),
    desc = "The server's settings: `codeLens`, `capture`, `restore`, `store`, as in its `settings.md`. A"
      .. ' `.backstitch.toml` in the workspace may have less recorded, and more kept.',
  },
  {
    key = 'diff.signs',
    type = 'boolean',
    default = true,
    desc = 'Whether an inline diff has signs beside its lines.',
  },
  {
    key = 'diff.words',
    type = 'boolean',
    default = true,
    desc = 'Whether an inline diff marks the words that differ.',
  },
  {
    key = 'blame.enabled',
    type = 'boolean',
    default = false,
    desc = 'Whether the end of the current line says who wrote it, from the start. |:Backstitch-blame| toggles it.',
  },
  {
    key = 'blame.delay',
    type = 'number',
    default = 150,
    desc = 'Milliseconds that the cursor rests before that is shown.',
  },
  {
    key = 'timeline.position',
    type = { 'left', 'right', 'below', 'tab' },
    default = 'right',
    desc = 'Where the timeline opens.',
  },
  {
    key = 'timeline.size',
    type = 'number',
    default = 60,
    least = 1,
    desc = 'Its columns, or lines where it is `below`.',
  },
  {
    key = 'timeline.keys',
    type = 'table',
    default = keys,
    desc = 'Keys of the timeline, by what they do; `false` sets none. They are listed at |backstitch-timeline|.',
  },
  {
    key = 'agents.avante',
    type = 'boolean',
    default = true,
    desc = "Whether avante.nvim's turns are recorded as such.",
  },
  {
    key = 'agents.codecompanion',
    type = 'boolean',
    default = true,
    desc = "Whether codecompanion.nvim's turns are recorded as such.",
  },
}

---@param of table
---@param key string
local function at(of, key)
  return vim.tbl_get(of, unpack(vim.split(key, '.', { plain = true })))
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

--- What is in an option that is a table.
---@type table<string, string[]>
local ELEMENTS = { cmd = { 'string' }, ['timeline.keys'] = { 'string', 'boolean' } }

---@param option backstitch.Option
---@param value any
---@return string? wrong
local function judged(option, value)
  if type(option.type) == 'table' then
    local known = option.type --[[@as string[] ]]
    if not vim.list_contains(known, value) then
      return ('%s is %s: it must be one of %s'):format(option.key, vim.inspect(value), table.concat(known, ', '))
    end
  elseif type(value) ~= option.type then
    return ('%s is a %s: it must be a %s'):format(option.key, type(value), option.type)
  elseif option.type == 'number' and (value < (option.least or 0) or value % 1 ~= 0) then
    return ('%s is %s: it must be a whole number, %d or more'):format(option.key, value, option.least or 0)
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

--- What is named, in all of `said`, that is no option.
---@param said table
---@param within string
---@param wrong string[]
local function unknown(said, within, wrong)
  for name, value in pairs(said) do
    local key = within .. name
    local is_option, is_group = false, false
    for _, option in ipairs(M.OPTIONS) do
      is_option = is_option or option.key == key
      is_group = is_group or vim.startswith(option.key, key .. '.')
    end
    if is_group and type(value) == 'table' then
      unknown(value, key .. '.', wrong)
    elseif not is_option then
      table.insert(wrong, ('%s is no option: see :help backstitch-options'):format(key))
    end
  end
end

---@type backstitch.Config?
local current
---@type string[]
M.problems = {}

--- Takes in what the user said. What is wrong is said in one line each, and what it is unless said holds.
---@param said table
function M.set(said)
  local wrong = {}
  if type(said) ~= 'table' then
    wrong, said = { ('the configuration is a %s: it must be a table'):format(type(said)) }, {}
  end
  unknown(said, '', wrong)
  local all = defaults()
  for _, option in ipairs(M.OPTIONS) do
    local value = at(said, option.key)
    local problem = value ~= nil and judged(option, value)
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
      table.insert(wrong, ('timeline.keys.%s is no action: see :help backstitch-timeline'):format(name))
    end
  end
  for _, problem in ipairs(wrong) do
    vim.notify('backstitch: ' .. problem, vim.log.levels.WARN)
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
