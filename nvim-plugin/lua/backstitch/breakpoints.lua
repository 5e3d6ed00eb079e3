--- Breakpoints of agents: signs at their lines, and the commands that change them.
local debounce = require('backstitch.debounce')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 50
--- Above the signs of diagnostics and of changes: a line where agents stop is to be seen.
local PRIORITY = 30

local namespace = vim.api.nvim_create_namespace('backstitch.breakpoints')

--- Names of the parameter of each kind.
local FIELDS = {
  path = 'glob',
  tool = 'name',
  content = 'regex',
  pattern = 'regex',
  command = 'text',
  iteration = 'number',
  error = 'tool',
  budget = 'limit',
}
M.KINDS = vim.tbl_keys(FIELDS)
table.sort(M.KINDS)

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

--- Makes a breakpoint of a kind.
---@async
---@param client vim.lsp.Client
---@param at { workspace: string }
---@param kind string
---@param value? string
function M.add(client, at, kind, value)
  local field = FIELDS[kind]
  local spec = {} ---@type table<string, any>
  if value then
    spec[field] = (field == 'number' or field == 'limit') and tonumber(value) or value
  elseif kind ~= 'error' then
    task.fail({
      message = (':Backstitch breakpoint %s needs a value'):format(kind),
      hint = ':help :Backstitch-breakpoint',
    })
  end
  if kind == 'budget' then
    spec.of = 'calls'
  end
  local arguments = { workspace = at.workspace, kind = kind, spec = vim.tbl_isempty(spec) and vim.empty_dict() or spec }
  ---@type backstitch.BreakpointResult
  local made = server.execute(client, 'backstitch.breakpoint.add', arguments)
  local text = ('%s: agents stop at %s %s.'):format(made.breakpoint.id, kind, made.breakpoint.summary)
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
