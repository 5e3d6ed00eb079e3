--- Agents inside Neovim: when their turns begin and end, by their own events. Others call `turn_begin` and `turn_end`.
local config = require('backstitch.config')

local M = {}

---@class backstitch.Wire
---@field begins table<string, fun(data: table): session: string, prompt: string?> By the pattern of a `User` event.
---@field ends table<string, fun(data: table): session: string>

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

---@type table<string, backstitch.Wire>
M.WIRES = {
  avante = {
    begins = {
      AvanteInputSubmitted = function(data)
        return here(), data.request
      end,
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

function M.enable()
  local api = require('backstitch')
  local group = vim.api.nvim_create_augroup('backstitch.agents', {})
  local server = require('backstitch.server')
  local function on(patterns, heard)
    for pattern, read in pairs(patterns) do
      vim.api.nvim_create_autocmd('User', {
        group = group,
        pattern = pattern,
        callback = function(event)
          heard(read(type(event.data) == 'table' and event.data or {}))
        end,
      })
    end
  end
  for agent, wire in pairs(M.WIRES) do
    if config.get().agents[agent] then
      on(wire.begins, function(session, prompt)
        local root = server.place(vim.api.nvim_get_current_buf()) or vim.uv.cwd()
        at_work[session] = root
        api.turn_begin({ agent = agent, session = session, prompt = prompt, root = root }, quiet)
      end)
      on(wire.ends, function(session)
        local root = at_work[session]
        if root then
          at_work[session] = nil
          api.turn_end({ agent = agent, session = session, root = root }, quiet)
        end
      end)
    end
  end
end

return M
