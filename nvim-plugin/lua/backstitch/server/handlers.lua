--- Messages from the server: the listeners of its notifications, its requests, and the commands of its lenses.
local protocol = require('backstitch.protocol')
local requests = require('backstitch.server.requests')

local M = {}

---@alias backstitch.Listener fun(params: table, client: vim.lsp.Client)
---@type table<string, backstitch.Listener[]>
local listeners = {}

--- Shows a message about the server.
---@param text string
---@param level? integer
function M.notify(text, level)
  require('backstitch.notice').say('backstitch: ' .. text, level or vim.log.levels.ERROR)
end

--- Registers a listener for a notification of servers, or for `attached` and `gone`, which are about servers themselves.
---@param method string
---@param fn backstitch.Listener
function M.on(method, fn)
  listeners[method] = listeners[method] or {}
  table.insert(listeners[method], fn)
end

--- Calls the listeners of a method.
---@param method string
---@param params table
---@param client vim.lsp.Client
function M.emit(method, params, client)
  for _, fn in ipairs(listeners[method] or {}) do
    fn(params, client)
  end
end

--- Returns the names of the buffers with unsaved text that an edit changes.
---@param edit lsp.WorkspaceEdit
---@return string[]
local function unsaved_in(edit)
  local uris = vim.tbl_keys(edit.changes or {})
  for _, change in ipairs(edit.documentChanges or {}) do
    table.insert(uris, change.textDocument and change.textDocument.uri)
  end
  local names = {}
  for _, uri in ipairs(uris) do
    local buf = require('backstitch.outside').buffer(vim.uri_to_fname(uri))
    if buf and vim.bo[buf].modified then
      table.insert(names, vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.'))
    end
  end
  return names
end

--- Says that an operation of another program was merged into unsaved text.
---@param names string[]
local function tell_merged(names)
  local notice = require('backstitch.notice')
  notice.after_typing(function()
    local text = 'backstitch: an operation of another program was merged into your unsaved text of %s'
    notice.say(text:format(table.concat(names, ', ')), vim.log.levels.WARN)
  end)
end

--- Returns the handlers of a client.
---@return table<string, function>
function M.handlers()
  local handlers = {}
  for _, method in ipairs(protocol.notifications) do
    handlers[method] = function(_, params, ctx)
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      if client then
        M.emit(method, params, client)
      end
    end
  end
  handlers['window/showDocument'] = function(err, params, ctx)
    if vim.startswith(params.uri, 'backstitch://') then
      require('backstitch.documents').show(params.uri, ctx.client_id)
      return { success = true }
    end
    return vim.lsp.handlers['window/showDocument'](err, params, ctx)
  end
  handlers['workspace/applyEdit'] = function(err, params, ctx)
    -- Neovim applies an edit of version 0 to any text, and reports one for an older text as applied
    for _, change in ipairs(params.edit.documentChanges or {}) do
      local document = change.textDocument
      local version = document and document.version
      if type(version) == 'number' and vim.lsp.util.buf_versions[vim.uri_to_bufnr(document.uri)] ~= version then
        return { applied = false, failureReason = 'the text has changed' }
      end
    end
    local unsaved = requests.is_executing(ctx.client_id) and {} or unsaved_in(params.edit)
    local answer = vim.lsp.handlers['workspace/applyEdit'](err, params, ctx)
    if #unsaved > 0 and answer.applied then
      tell_merged(unsaved)
    end
    return answer
  end
  handlers['window/showMessage'] = function(_, params)
    -- LSP: 1 is an error, 2 a warning
    local level = ({ vim.log.levels.ERROR, vim.log.levels.WARN })[params.type]
    M.notify(params.message, level or vim.log.levels.INFO)
    return vim.NIL
  end
  -- 0.11 draws lenses on request alone
  if vim.lsp.codelens.enable then
    handlers['workspace/codeLens/refresh'] = function(_, _, ctx)
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      if client then
        require('backstitch.lenses').refresh_all(client)
      end
      return vim.NIL
    end
  end
  return handlers
end

--- Returns the commands of lenses and code actions.
---@return table<string, fun(command: lsp.Command, ctx: table)>
function M.commands()
  local commands = {}
  for _, id in ipairs(protocol.commands) do
    local name = assert(id:match('^backstitch%.(.+)$'))
    commands[id] = function(command, ctx)
      local arguments = command.arguments and command.arguments[1] or {}
      require('backstitch.commands').from_server(name, arguments, ctx)
    end
  end
  return commands
end

return M
