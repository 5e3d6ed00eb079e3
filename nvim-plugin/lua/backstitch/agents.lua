--- Agents inside Neovim: their own events say when turns begin and end. Others call `turn_begin` and `turn_end`.
local config = require('backstitch.config')

local M = {}

---@class backstitch.Adapter
---@field begins table<string, fun(data: table): session: string?, prompt: string?> Keyed by the pattern of a `User` event.
---@field ends table<string, fun(data: table): session: string>
---@field hooks? backstitch.MethodHook[] Methods to hook where the plugin sends no event.

--- Method of another plugin. It runs as before, and each call is reported.
---@class backstitch.MethodHook
---@field module string
---@field method string
---@field begins? fun(object: table, given: any): session: string?, prompt: string?, buf: integer?
---@field ends? fun(): session: string

--- Session of an agent that does not distinguish its conversations: one per instance of Neovim.
local function instance_session()
  return ('nvim-%d'):format(vim.uv.os_getpid())
end

--- Newest message of the user in a chat of codecompanion.
---@param buf integer?
---@return string?
local function last_prompt(buf)
  local ok, codecompanion = pcall(require, 'codecompanion')
  local chat = ok and buf and codecompanion.buf_get_chat and codecompanion.buf_get_chat(buf)
  local messages = type(chat) == 'table' and chat.messages or {}
  for i = #messages, 1, -1 do
    if messages[i].role == 'user' and type(messages[i].content) == 'string' then
      return messages[i].content
    end
  end
end

local function chat(data)
  return ('chat-%s'):format(data.id or instance_session())
end

--- Events that show that an agent's plugin is loaded.
M.LOADED = { avante = 'Avante*' }

---@type table<string, backstitch.Adapter>
M.ADAPTERS = {
  avante = {
    begins = {
      AvanteInputSubmitted = function(data)
        -- the hooked sidebar reports the same prompt
        if not M.is_hooked('avante.sidebar') then
          return instance_session(), data.request
        end
      end,
    },
    hooks = {
      {
        module = 'avante.sidebar',
        method = 'handle_submit',
        begins = function(sidebar, request)
          -- a prompt sent during an answer continues the turn; a slash command may contain no prompt
          local asks = type(request) == 'string' and request ~= '' and not vim.startswith(request, '/')
          if asks and not sidebar.is_generating then
            return instance_session(), request, sidebar.code and sidebar.code.bufnr
          end
        end,
      },
      {
        module = 'avante.selection',
        method = 'submit_input',
        begins = function(selection, request)
          return 'edit-' .. instance_session(), type(request) == 'string' and request or nil, selection.code_bufnr
        end,
      },
      {
        module = 'avante.selection',
        method = 'close_editing_input',
        ends = function()
          return 'edit-' .. instance_session()
        end,
      },
    },
    -- the second event follows a cancellation
    ends = { AvanteViewBufferUpdated = instance_session, AvanteLLMEscape = instance_session },
  },
  codecompanion = {
    begins = {
      CodeCompanionChatSubmitted = function(data)
        return chat(data), last_prompt(data.bufnr)
      end,
      CodeCompanionInlineStarted = function()
        return 'inline-' .. instance_session()
      end,
    },
    ends = {
      CodeCompanionChatDone = chat,
      CodeCompanionChatStopped = chat,
      CodeCompanionChatClosed = chat,
      CodeCompanionInlineFinished = function()
        return 'inline-' .. instance_session()
      end,
    },
  },
}

--- Workspace roots of the running sessions. The buffer may be another one when a session ends.
---@type table<string, string>
local active_roots = {}

--- Ignores failures: the user did not ask for these calls, and there may be no server.
local function ignore() end

---@type table<string, boolean> Keyed by module and method.
local hooked = {}

---@param module string
function M.is_hooked(module)
  return hooked[module] == true
end

--- Reports the calls of a method. Its result and its errors stay the same.
---@param target backstitch.MethodHook
---@param observe fun(object: table, given: any)
local function hook(target, observe)
  local class = package.loaded[target.module]
  local key = target.module .. '.' .. target.method
  local own = type(class) == 'table' and class[target.method]
  if hooked[key] or type(own) ~= 'function' then
    return
  end
  hooked[key], hooked[target.module] = true, true
  class[target.method] = function(object, given, ...)
    pcall(observe, object, given)
    return own(object, given, ...)
  end
end

function M.enable()
  local api = require('backstitch')
  local group = vim.api.nvim_create_augroup('backstitch.agents', {})
  local server = require('backstitch.server')
  local function on(patterns, observe)
    for pattern, read in pairs(patterns) do
      vim.api.nvim_create_autocmd('User', {
        group = group,
        pattern = pattern,
        callback = function(event)
          observe(read(type(event.data) == 'table' and event.data or {}))
        end,
      })
    end
  end
  for agent, adapter in pairs(M.ADAPTERS) do
    if config.get().agents[agent] then
      local function begins(session, prompt, buf)
        if not session then
          return
        end
        local root = server.root_for_buffer(buf or vim.api.nvim_get_current_buf()) or vim.uv.cwd()
        active_roots[session] = root
        api.turn_begin({ agent = agent, session = session, prompt = prompt, root = root }, ignore)
      end
      local function ends(session)
        local root = active_roots[session]
        if root then
          active_roots[session] = nil
          api.turn_end({ agent = agent, session = session, root = root }, ignore)
        end
      end
      on(adapter.begins, begins)
      on(adapter.ends, ends)
      if adapter.hooks then
        -- its windows and events show that it is loaded
        vim.api.nvim_create_autocmd({ 'FileType', 'User' }, {
          group = group,
          pattern = M.LOADED[agent],
          callback = function()
            for _, target in ipairs(adapter.hooks) do
              hook(target, function(object, given)
                if target.begins then
                  begins(target.begins(object, given))
                end
                if target.ends then
                  ends(target.ends())
                end
              end)
            end
          end,
        })
      end
    end
  end
end

return M
