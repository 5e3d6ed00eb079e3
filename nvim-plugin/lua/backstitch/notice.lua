--- Messages to the user on one line: none asks for ENTER. Owns their form.
local words = require('backstitch.words')

local M = {}

local HIGHLIGHTS = {
  [vim.log.levels.ERROR] = 'ErrorMsg',
  [vim.log.levels.WARN] = 'WarningMsg',
}

--- Space that Neovim keeps free at the end of the command line, for pending keys and the position.
local RESERVED = 12

--- True if Neovim itself prints notifications; a plugin that replaced them has its own layout.
---@return boolean
local function is_builtin()
  local source = debug.getinfo(vim.notify, 'S').source
  -- Neovim's own functions may be compiled without their source
  return source == '?' or source:find('vim/_', 1, true) ~= nil
end

--- Shows a message. One that does not fit into the command line is cut there, and is complete in `:messages`.
---@param text string
---@param level? integer
function M.say(text, level)
  text = words.visible(text)
  local space = math.max(20, vim.v.echospace > 0 and vim.v.echospace or vim.o.columns - RESERVED)
  if not is_builtin() or not text:find('\n', 1, true) and vim.fn.strdisplaywidth(text) <= space then
    return vim.notify(text, level)
  end
  local asks = vim.o.messagesopt
  -- nothing is to be read before the short form
  vim.o.messagesopt = asks:gsub('hit%-enter', 'wait:0')
  for _, line in ipairs(vim.split(vim.trim(text), '\n')) do
    vim.api.nvim_echo({ { line, HIGHLIGHTS[level] } }, true, {})
    -- a status line of the user's may fail
    pcall(vim.cmd.redraw)
  end
  vim.o.messagesopt = asks
  vim.api.nvim_echo({ { words.line(text, space), HIGHLIGHTS[level] } }, false, {})
end

--- True while a message would be overwritten at once: the user types text, a command line or into a terminal.
---@return boolean
local function is_typing()
  return vim.api.nvim_get_mode().mode:match('^[iRtc]') ~= nil
end

--- Calls a function now, or once the user has stopped typing.
---@param act fun()
function M.after_typing(act)
  if not is_typing() then
    return act()
  end
  vim.api.nvim_create_autocmd('ModeChanged', {
    pattern = '*:n*',
    once = true,
    callback = vim.schedule_wrap(function()
      M.after_typing(act)
    end),
  })
end

return M
