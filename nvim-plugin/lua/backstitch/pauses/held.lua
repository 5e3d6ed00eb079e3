--- Held calls by client, as the server listed them last.
local files = require('backstitch.held_files')
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

--- Calls that are held, by client.
---@type table<integer, backstitch.Pause[]>
M.by_client = {}

--- Returns the number of calls that are held.
---@param client vim.lsp.Client
---@return integer
function M.count(client)
  return #vim.tbl_filter(function(pause)
    return pause.state == 'held'
  end, M.by_client[client.id] or {})
end

--- Returns the words about a call in messages and choices.
---@param pause backstitch.Pause
---@return string
function M.summary(pause)
  return ('%s %s'):format(pause.id, words.line(pause.summary))
end

--- Returns the parameters that name a call.
---@param pause backstitch.Pause
---@return { pause: string, workspace: string }
function M.about(pause)
  return { pause = pause.id, workspace = words.shown(pause.root) }
end

--- Returns the server of a view or of files. One that was restarted has another number.
---@param of { client: integer }
---@return vim.lsp.Client?
function M.client_of(of)
  local client = vim.lsp.get_client_by_id(of.client)
  return client and not client:is_stopped() and client or server.find()
end

--- Returns the call of these files, if it is not decided.
---@param own backstitch.HeldFiles
---@return backstitch.Pause?
function M.open_call(own)
  local client = M.client_of(own)
  return vim.iter(client and M.by_client[client.id] or {}):find(function(pause)
    return files.of(pause) == own
  end)
end

return M
