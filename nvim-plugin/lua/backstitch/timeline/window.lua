--- Windows of a timeline: their place, size and options, and the window beside it for files.
local config = require('backstitch.config')
local outside = require('backstitch.outside')

local M = {}

--- A vertical split is at least this wide; where half of the screen is less, the timeline is below.
local MIN_COLUMNS = 40

--- Goes to the window for files: the previous window if it shows a file, else another one or a new split.
function M.go_to_files()
  -- lists of files, such as those of netrw and oil, are replaced by the file; panels at the side are not
  local function fitness(window)
    local kind = vim.bo[vim.api.nvim_win_get_buf(window)].buftype
    if vim.api.nvim_win_get_config(window).relative ~= '' or vim.wo[window].winfixbuf then
      return nil
    elseif kind == '' then
      return 2
    end
    local is_list = kind == 'acwrite' or kind == 'nofile'
    return is_list and not vim.wo[window].winfixwidth and not vim.wo[window].winfixheight and 1 or nil
  end
  local last = vim.fn.win_getid(vim.fn.winnr('#'))
  local best = last ~= 0 and fitness(last) and last or nil
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if fitness(window) and (not best or fitness(window) > fitness(best)) then
      best = window
    end
  end
  if best then
    return vim.api.nvim_set_current_win(best)
  end
  local timeline, columns = vim.api.nvim_get_current_win(), vim.api.nvim_win_get_width(0)
  vim.cmd('topleft vsplit')
  vim.wo.winfixbuf, vim.wo.winfixwidth = false, false
  vim.api.nvim_win_set_width(timeline, math.min(columns, math.floor(vim.o.columns / 2)))
end

--- Position and size of a new window: half of the screen at most, and below where that is too narrow.
---@return string position, integer size
local function place()
  local own = config.get().timeline
  if own.position == 'tab' then
    return own.position, 0
  elseif own.position ~= 'below' and math.floor(vim.o.columns / 2) >= MIN_COLUMNS then
    return own.position, math.min(own.size, math.floor(vim.o.columns / 2))
  end
  local lines = own.position == 'below' and own.size or math.floor(vim.o.lines / 3)
  return 'below', math.max(1, math.min(lines, math.floor(vim.o.lines / 2)))
end

local SPLITS = {
  left = { split = 'topleft', vertical = true },
  right = { split = 'botright', vertical = true },
  below = { split = 'botright' },
  tab = { tab = 1 },
}

--- Hides the text of the user's global 'winbar' in the current window: an empty local value means the global one.
function M.hide_winbar()
  vim.wo[0][0].winbar = ''
  if vim.go.winbar ~= '' then
    vim.wo[0][0].winbar = ' '
  end
end

--- Shows a timeline in the current window.
---@param buf integer
---@param position string
function M.show_here(buf, position)
  -- a split takes the options of the window
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, buf)
  local options = vim.wo[0][0]
  options.number, options.relativenumber, options.signcolumn, options.foldcolumn = false, false, 'no', '0'
  options.foldenable, options.statuscolumn, options.colorcolumn = false, '', ''
  M.hide_winbar()
  options.cursorcolumn, options.conceallevel, options.scrollbind, options.cursorbind = false, 0, false, false
  options.wrap, options.cursorline, options.list, options.spell, options.diff = false, true, false, false, false
  local key = config.get().timeline.keys.help
  options.statusline = ' %{fnamemodify(b:backstitch_root, ":t")}: timeline%{get(b:, "backstitch_filter", "")}%='
    .. [[%{v:lua.require'backstitch.timeline'.state_word()} ]]
    .. (key and ('%s: keys '):format(outside.status(key)) or '')
  options.winfixwidth = position == 'left' or position == 'right'
  options.winfixheight = position == 'below'
  options.winfixbuf = true
end

--- Opens a window for a timeline.
---@param buf integer
function M.open(buf)
  local position, size = place()
  vim.cmd.split({ mods = SPLITS[position], range = position ~= 'tab' and { size } or nil })
  M.show_here(buf, position)
end

return M
