--- Agents inside Neovim: when their turns begin and end, by their own events. Others call `turn_begin` and `turn_end`.
local config = require('backstitch.config')

local M = {}

---@class backstitch.Wire
---@field begins table<string, fun(data: table): session: string?, prompt: string?> By the pattern of a `User` event.
---@field ends table<string, fun(data: table): session: string>
---@field called? backstitch.Called[] What it does without an event.

--- A method of another plugin: it is called as before, and heard of.
---@class backstitch.Called
---@field module string
---@field method string
---@field begins? fun(object: table, given: any): session: string?, prompt: string?, buf: integer?
---@field ends? fun(): session: string

--- One instance of Neovim is one session of an agent that does not tell its conversations apart.
local function here()
  return ('nvim-%d'):format(vim.uv.os_getpid())
end

--- What the user asked last in a chat of codecompanion.
---@param buf integer?
---@return string?
local function asked(buf)
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
  return ('chat-%s'):format(data.id or here())
end

--- By what is seen that an agent is there.
M.LOADED = { avante = 'Avante*' }

---@type table<string, backstitch.Wire>
M.WIRES = {
  avante = {
    begins = {
      AvanteInputSubmitted = function(data)
        -- what is asked by an event comes by its sidebar, too
        if not M.is_heard('avante.sidebar') then
          return here(), data.request
        end
      end,
    },
    called = {
      {
        module = 'avante.sidebar',
        method = 'handle_submit',
        begins = function(sidebar, request)
          -- while it answers, what is asked goes on with the turn; a slash command may ask nothing
          local asks = type(request) == 'string' and request ~= '' and not vim.startswith(request, '/')
          if asks and not sidebar.is_generating then
            return here(), request, sidebar.code and sidebar.code.bufnr
          end
        end,
      },
      {
        module = 'avante.selection',
        method = 'submit_input',
        begins = function(selection, request)
          return 'edit-' .. here(), type(request) == 'string' and request or nil, selection.code_bufnr
        end,
      },
      {
        module = 'avante.selection',
        method = 'close_editing_input',
        ends = function()
          return 'edit-' .. here()
        end,
      },
    },
    -- the second one where it is called off
    ends = { AvanteViewBufferUpdated = here, AvanteLLMEscape = here },
  },
  codecompanion = {
    begins = {
      CodeCompanionChatSubmitted = function(data)
        return chat(data), asked(data.bufnr)
      end,
      CodeCompanionInlineStarted = function()
        return 'inline-' .. here()
      end,
    },
    ends = {
      CodeCompanionChatDone = chat,
      CodeCompanionChatStopped = chat,
      CodeCompanionChatClosed = chat,
      CodeCompanionInlineFinished = function()
        return 'inline-' .. here()
      end,
    },
  },
}

--- Where sessions began that have not ended, whatever is looked at when they do.
---@type table<string, string>
local at_work = {}

--- Nobody asked for it: where there is no server, nothing is said.
local function quiet() end

---@type table<string, boolean> By module and method.
local heard = {}

---@param module string
function M.is_heard(module)
  return heard[module] == true
end

--- Hears of a method's calls. What it answers, and what goes wrong in it, is the same as before.
---@param called backstitch.Called
---@param tell fun(object: table, given: any)
local function hear(called, tell)
  local class = package.loaded[called.module]
  local key = called.module .. '.' .. called.method
  local own = type(class) == 'table' and class[called.method]
  if heard[key] or type(own) ~= 'function' then
    return
  end
  heard[key], heard[called.module] = true, true
  class[called.method] = function(object, given, ...)
    pcall(tell, object, given)
    return own(object, given, ...)
  end
end

function M.enable()
  local api = require('backstitch')
  local group = vim.api.nvim_create_augroup('backstitch.agents', {})
  local server = require('backstitch.server')
  local function on(patterns, tell)
    for pattern, read in pairs(patterns) do
      vim.api.nvim_create_autocmd('User', {
        group = group,
        pattern = pattern,
        callback = function(event)
          tell(read(type(event.data) == 'table' and event.data or {}))
        end,
      })
    end
  end
  for agent, wire in pairs(M.WIRES) do
    if config.get().agents[agent] then
      local function begins(session, prompt, buf)
        if not session then
          return
        end
        local root = server.place(buf or vim.api.nvim_get_current_buf()) or vim.uv.cwd()
        at_work[session] = root
        api.turn_begin({ agent = agent, session = session, prompt = prompt, root = root }, quiet)
      end
      local function ends(session)
        local root = at_work[session]
        if root then
          at_work[session] = nil
          api.turn_end({ agent = agent, session = session, root = root }, quiet)
        end
      end
      on(wire.begins, begins)
      on(wire.ends, ends)
      if wire.called then
        -- its windows and events tell that it is loaded
        vim.api.nvim_create_autocmd({ 'FileType', 'User' }, {
          group = group,
          pattern = M.LOADED[agent],
          callback = function()
            for _, called in ipairs(wire.called) do
              hear(called, function(object, given)
                if called.begins then
                  begins(called.begins(object, given))
                end
                if called.ends then
                  ends(called.ends())
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
