--- Breakpoints of agents: signs at their lines, and the commands that change them.
local debounce = require('backstitch.debounce')
local kinds = require('backstitch.kinds')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 50
--- Above the signs of diagnostics and of changes: a line where agents stop is to be seen.
local PRIORITY = 30

local namespace = vim.api.nvim_create_namespace('backstitch.breakpoints')

--- Names of the kinds.
---@type string[]
M.KINDS = vim.tbl_map(function(kind)
  return kind.name
end, kinds)

--- True for a client with breakpoints at lines.
---@type table<integer, boolean>
local has_lines = {}

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

---@param client vim.lsp.Client
local function draw(client)
  task.run(function()
    local root = server.root_of(client)
    ---@type backstitch.BreakpointsResult
    local found = server.request(client, 'backstitch/breakpoints', { workspace = root })
    local regions = {} ---@type table<string, backstitch.Breakpoint[]>
    for _, one in ipairs(found.breakpoints) do
      local region = words.given(one.region)
      if region and region.state == 'present' then
        local path = vim.fs.joinpath(root or '', region.path)
        regions[path] = regions[path] or {}
        table.insert(regions[path], one)
      end
    end
    has_lines[client.id] = vim.iter(found.breakpoints):any(function(one)
      return words.given(one.region) ~= nil
    end)
    for buf in pairs(client.attached_buffers) do
      if vim.api.nvim_buf_is_loaded(buf) then
        vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
        local path = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf)) or ''
        for _, one in ipairs(regions[path] or {}) do
          for line = one.region.start, one.region.start + math.max(one.region.count, 1) - 1 do
            if line < vim.api.nvim_buf_line_count(buf) then
              vim.api.nvim_buf_set_extmark(buf, namespace, line, 0, {
                sign_text = one.enabled and '◆' or '◇',
                sign_hl_group = one.enabled and 'BackstitchBreakpoint' or 'BackstitchDim',
                priority = PRIORITY,
              })
            end
          end
        end
      end
    end
  end, function() end) -- a workspace without a history has none
end

local schedule_draw = debounce.by_client(DELAY, draw)

--- Makes a breakpoint at lines of a buffer, or removes those that are there.
---@async
---@param client vim.lsp.Client
---@param buf integer
---@param first integer From 1.
---@param last integer
function M.toggle(client, buf, first, last)
  local arguments = { uri = vim.uri_from_bufnr(buf), lines = { first - 1, last } }
  ---@type backstitch.ToggleResult
  local done = server.execute(client, 'backstitch.breakpoint.toggle', arguments, buf)
  local added = words.given(done.added)
  if added then
    say(('%s: agents stop at %s'):format(added.id, added.summary))
  else
    say(('removed %s'):format(table.concat(done.removed, ', ')))
  end
end

--- Asks for a parameter. `typed` is what was there before, and `problem` is what is wrong with it.
---@async
---@param field backstitch.KindField
---@param typed? string
---@param problem? string
---@return string
local function ask(field, typed, problem)
  if field.form == 'choice' then
    return task.select(field.choices, { prompt = field.help })
  end
  local about = ('%s (%s)'):format(field.help, field.example)
  return task.input({ prompt = ('%s: '):format(problem or about), default = typed })
end

---@param field backstitch.KindField
---@param value string
---@return any
local function parsed(field, value)
  return field.form == 'number' and tonumber(value) or value
end

--- Reads the parameters of a kind. The last required one takes all words that are left.
---@async
---@param kind backstitch.Kind
---@param words_typed string[]
---@return table<string, any> spec, backstitch.KindField? last, string typed The last parameter, as it was typed.
local function read(kind, words_typed)
  local fields = vim.tbl_filter(function(field)
    return field.required
  end, kind.fields)
  if #fields == 0 and #words_typed > 0 then
    fields = { kind.fields[1] }
  end
  local spec, typed = vim.empty_dict(), ''
  for n, field in ipairs(fields) do
    local last = n == #fields and #words_typed or n
    typed = table.concat(vim.list_slice(words_typed, n, last), ' ')
    if typed == '' then
      typed = ask(field)
    end
    spec[field.name] = parsed(field, typed)
  end
  return spec, fields[#fields], typed
end

--- Makes a breakpoint of a kind. Asks for parameters that are not typed, and again for one that is refused, as it was typed.
---@async
---@param client vim.lsp.Client
---@param at { workspace: string }
---@param name string
---@param words_typed string[]
function M.add(client, at, name, words_typed)
  local kind = vim.iter(kinds):find(function(one)
    return one.name == name
  end)
  local spec, field, typed = read(assert(kind), words_typed)
  local arguments = { workspace = at.workspace, kind = name, spec = spec }
  local ok, got = pcall(server.execute, client, 'backstitch.breakpoint.add', arguments)
  while not ok do
    if not field or type(got) ~= 'table' or not got.message then
      error(got, 0)
    end
    typed = ask(field, typed, words.line(got.message, 200))
    spec[field.name] = parsed(field, typed)
    ok, got = pcall(server.execute, client, 'backstitch.breakpoint.add', arguments)
  end
  local made = got --[[@as backstitch.BreakpointResult]]
  local text = ('%s: agents stop at %s %s.'):format(made.breakpoint.id, name, made.breakpoint.summary)
  say(table.concat({ text, unpack(words.given(made.remarks) or {}) }, ' '))
end

--- Lists the breakpoints, and removes, enables or disables the chosen one.
---@async
---@param client vim.lsp.Client
---@param at { workspace: string }
function M.list(client, at)
  ---@type backstitch.BreakpointsResult
  local found = server.request(client, 'backstitch/breakpoints', at)
  if #found.breakpoints == 0 then
    return say('no breakpoints: `:Backstitch breakpoint` makes one at the cursor')
  end
  local chosen = task.select(found.breakpoints, {
    prompt = 'Breakpoints of agents',
    format_item = function(one)
      local state = one.enabled and '◆' or '◇'
      return ('%s %s %s %s (%d hits)'):format(state, one.id, one.kind, one.summary, one.hitCount)
    end,
  })
  local actions = { chosen.enabled and 'Disable' or 'Enable', 'Remove' }
  local action = task.select(actions, { prompt = ('%s %s %s'):format(chosen.id, chosen.kind, chosen.summary) })
  server.execute(client, 'backstitch.breakpoint.' .. action:lower(), {
    workspace = at.workspace,
    breakpoint = chosen.id,
  })
  say(('%s: %sd'):format(chosen.id, action:lower()))
end

function M.enable()
  local methods = { 'attached', 'backstitch/breakpointsChanged', 'backstitch/timelineChanged', 'backstitch/didRewind' }
  for _, method in ipairs(methods) do
    server.on(method, function(_, client)
      schedule_draw(client)
    end)
  end
  -- the server follows the lines through each change of a text: a sign that only moves with its line may be wrong
  vim.api.nvim_create_autocmd({ 'LspAttach', 'TextChanged', 'InsertLeave', 'BufReadPost', 'FileChangedShellPost' }, {
    group = vim.api.nvim_create_augroup('backstitch.breakpoints', {}),
    callback = function(event)
      for _, client in ipairs(vim.lsp.get_clients({ name = 'backstitch', bufnr = event.buf })) do
        if event.event == 'LspAttach' or has_lines[client.id] then
          schedule_draw(client)
        end
      end
    end,
  })
end

return M
