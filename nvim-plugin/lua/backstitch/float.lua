--- A read-only float: plans, previews, lists of keys.
local outside = require('backstitch.outside')

local M = {}

---@class backstitch.Chunk
---@field [1] string
---@field [2]? string highlight

---@class backstitch.Float
---@field title string
---@field footer? string
---@field lines backstitch.Chunk[][]
---@field keys table<string, fun()> Each closes the float first.
---@field filetype? string

--- Writes lines of chunks into a buffer, highlighted.
---@param buf integer
---@param namespace integer
---@param lines backstitch.Chunk[][]
function M.write(buf, namespace, lines)
  local texts = {}
  for i, chunks in ipairs(lines) do
    local text = {}
    for j, chunk in ipairs(chunks) do
      chunk[1] = outside.line(chunk[1])
      text[j] = chunk[1]
    end
    texts[i] = table.concat(text)
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, texts)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for i, chunks in ipairs(lines) do
    local column = 0
    for _, chunk in ipairs(chunks) do
      local behind = column + #chunk[1]
      if chunk[2] and behind > column then
        vim.api.nvim_buf_set_extmark(buf, namespace, i - 1, column, { end_col = behind, hl_group = chunk[2] })
      end
      column = behind
    end
  end
end

--- Closes the current window, or empties it if it is the last.
function M.leave()
  local others = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_config(window).relative == ''
  end, vim.api.nvim_list_wins())
  if #others == 1 then
    vim.wo.winfixbuf = false
    vim.cmd.enew()
  else
    vim.api.nvim_win_close(0, true)
  end
end

local namespace = vim.api.nvim_create_namespace('backstitch.float')

--- Returns the number of lines that fit into a float; the others are reached by scrolling.
function M.max_height()
  return vim.o.lines - 6
end

--- Opens a float. `closed` is called when it is closed without one of its keys.
---@param float backstitch.Float
---@param closed? fun()
---@return integer window
function M.open(float, closed)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  M.write(buf, namespace, float.lines)
  if float.filetype then
    vim.bo[buf].filetype = float.filetype
  end
  local width = 2 + math.max(vim.fn.strdisplaywidth(float.title), vim.fn.strdisplaywidth(float.footer or ''))
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  width = math.max(20, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#float.lines, M.max_height()))
  local window = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    border = vim.o.winborder == '' and 'rounded' or nil,
    title = (' %s '):format(outside.line(float.title)),
    footer = float.footer and (' %s '):format(outside.line(float.footer)) or nil,
    style = 'minimal',
  })
  vim.wo[window].wrap = false
  vim.wo[window].cursorline = true
  local is_closed = false
  local function close()
    is_closed = true
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  for key, act in pairs(float.keys) do
    vim.keymap.set('n', key, function()
      close()
      act()
    end, { buffer = buf, nowait = true })
  end
  for _, key in ipairs({ 'q', '<Esc>' }) do
    vim.keymap.set('n', key, '<C-W>c', { buffer = buf, nowait = true, desc = 'Close' })
  end
  vim.api.nvim_create_autocmd({ 'BufWipeout', 'WinLeave' }, {
    buffer = buf,
    callback = function(event)
      if is_closed then
        return
      end
      is_closed = true
      if event.event == 'WinLeave' then
        vim.schedule(close)
      end
      if closed then
        vim.schedule(closed)
      end
    end,
  })
  return window
end

return M
