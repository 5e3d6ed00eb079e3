--- Cached state of workspaces for the status line, and `User` autocommands for other plugins.
local debounce = require('backstitch.debounce')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 100

---@class backstitch.WorkspaceState
---@field branch string
---@field newest? backstitch.Checkpoint
---@field turn? string The newest turn.

--- Keyed by client.
---@type table<integer, backstitch.WorkspaceState>
local states = {}

---@param client vim.lsp.Client
local function read(client)
  task.run(function()
    local root, buf = server.root_of(client), next(client.attached_buffers)
    if not root and buf then
      local uri = vim.uri_from_bufnr(buf)
      root = words.shown(server.request(client, 'backstitch/timeline', { uri = uri, limit = 1 }).workspace)
      server.serves(root, client)
    end
    local page = server.request(client, 'backstitch/timeline', { workspace = root, limit = 20 })
    local now = { branch = page.branch, newest = page.checkpoints[1] }
    for _, checkpoint in ipairs(page.checkpoints) do
      now.turn = now.turn or words.given(checkpoint.turn)
    end
    states[client.id] = now
    vim.cmd.redrawstatus()
  end, function() end) -- a workspace without a history has nothing to show
end

local schedule_read = debounce.by_client(DELAY, read)

---@return string
function M.line()
  local client = server.find()
  local here = client and states[client.id]
  local held = client and require('backstitch.pauses').count(client) or 0
  local pauses = held > 0 and { '⏸ ' .. held } or {}
  if not here or not here.newest then
    return pauses[1] or ''
  end
  local parts = { '⟲ ' .. (here.turn or here.newest.id) }
  if here.branch ~= 'main' then
    table.insert(parts, outside.status_part(here.branch))
  end
  return table.concat(vim.list_extend(pauses, parts), ' ')
end

--- Returns the cached state of a client's workspace.
---@param client vim.lsp.Client
---@return backstitch.WorkspaceState?
function M.of(client)
  return states[client.id]
end

---@param pattern string
---@param data table
local function announce(pattern, data)
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
end

function M.enable()
  server.on('backstitch/didCheckpoint', function(params)
    announce('BackstitchCheckpoint', params)
  end)
  server.on('backstitch/didRewind', function(params)
    announce('BackstitchRewind', params)
  end)
  for _, method in ipairs({ 'attached', 'backstitch/timelineChanged', 'backstitch/didCheckpoint' }) do
    server.on(method, function(_, client)
      schedule_read(client)
    end)
  end
  server.on('gone', function(_, client)
    states[client.id] = nil
  end)
end

return M
