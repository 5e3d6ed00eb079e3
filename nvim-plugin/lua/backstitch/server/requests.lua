--- Requests to the server: sent, answered, and ended without an answer after a crash.
local task = require('backstitch.task')

local M = {}

---@alias backstitch.Callbacks table<function, true?>
--- Callbacks of pending requests, by client.
---@type table<integer, backstitch.Callbacks>
local pending = {}
--- Number of commands of this Neovim that a server carries out, by client.
---@type table<integer, integer>
local executing = {}

--- Ends the requests of a server that has crashed: they get no answer any longer.
---@param id integer
function M.fail_pending(id)
  for once in pairs(pending[id] or {}) do
    once({ message = 'the server has crashed', data = { hint = 'It is restarted; try again' } })
  end
  pending[id] = nil
end

---@param err lsp.ResponseError
---@return backstitch.Failure
local function failure(err)
  local data = type(err.data) == 'table' and err.data or {}
  local function text(value)
    return type(value) == 'string' and value or nil
  end
  return {
    message = err.message,
    kind = text(data.kind),
    hint = text(data.hint),
    answer = type(data.answer) == 'table' and data.answer or nil,
  }
end

--- Sends a request and blocks until the answer, for callers that cannot wait asynchronously. Returns nil without an answer.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param timeout integer milliseconds
---@return table? result, string? wrong
function M.request_now(client, method, params, timeout)
  ---@diagnostic disable-next-line: param-type-mismatch
  local answer = client:request_sync(method, params, timeout)
  if not answer then
    return nil, 'the server does not answer'
  end
  return answer.result, answer.err and answer.err.message
end

--- Sends a request, waits for the answer and returns it.
---@async
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param buf? integer Buffer whose changes the server is to have before; the default is the current one.
---@return any
function M.request(client, method, params, buf)
  local err, result = task.await(function(back)
    ---@type backstitch.Callbacks
    local all = pending[client.id] or {}
    pending[client.id] = all
    ---@type function
    local once
    function once(...)
      if all[once] then
        all[once] = nil
        back(...)
      end
    end
    all[once] = true
    ---@diagnostic disable-next-line: param-type-mismatch
    if not client:request(method, params, once, buf) then
      once({ message = 'the server is not running', data = { hint = ':Backstitch restart starts it' } })
    end
  end)
  if err then
    if err.code == -32800 or (type(err.data) == 'table' and err.data.kind == 'cancelled') then
      error(task.CALLED_OFF, 0)
    end
    task.fail(failure(err))
  end
  return result
end

--- Executes a command of the server.
---@async
---@param client vim.lsp.Client
---@param command string
---@param arguments table
---@param buf? integer Buffer whose changes the server is to have before; the default is the current one.
---@return any
function M.execute(client, command, arguments, buf)
  local params = { command = command, arguments = { vim.tbl_isempty(arguments) and vim.empty_dict() or arguments } }
  executing[client.id] = (executing[client.id] or 0) + 1
  local ok, result = pcall(M.request, client, 'workspace/executeCommand', params, buf)
  executing[client.id] = executing[client.id] - 1
  if not ok then
    error(result, 0)
  end
  return result
end

--- True while a server carries out a command of this Neovim.
---@param id integer
---@return boolean
function M.is_executing(id)
  return (executing[id] or 0) > 0
end

return M
