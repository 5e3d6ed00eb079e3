--- Changes of a row as a diff, and the window that shows those of the row under the cursor.
local pick = require('backstitch.pick')
local server = require('backstitch.server')
local task = require('backstitch.task')
local views = require('backstitch.timeline.view')
local words = require('backstitch.words')

local M = {}

--- The window is beside the timeline if it gets at least this many columns, else above.
local MIN_COLUMNS = 40

--- Returns the changes of a checkpoint as a diff, of a turn step by step.
---@async
---@param view backstitch.View
---@param row backstitch.Row
---@return string[]
function M.lines(view, row)
  local client = views.client_of(view)
  local checkpoint = views.checkpoint_of(row)
  local all = row.saves or checkpoint.kind == 'turn' and row.steps or { checkpoint }
  local lines = {}
  for i = #all, 1, -1 do
    local range = pick.range(all[i])
    if range then
      range.workspace = view.root
      if row.change then
        range.uri = vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path)))
      end
      local diff = server.request(client, 'backstitch/diff', range)
      if #diff.files > 0 then
        vim.list_extend(lines, pick.unified(diff))
      end
    end
  end
  return #lines > 0 and lines or { 'No files changed.' }
end

--- Closes the window of the changes.
---@param view backstitch.View
function M.hide(view)
  if view.live and vim.api.nvim_win_is_valid(view.live) then
    vim.api.nvim_win_close(view.live, true)
  end
  view.live, view.live_row = nil, nil
end

--- Shows lines beside the timeline, in a window that takes no focus.
---@param view backstitch.View
---@param title string
---@param lines string[]
local function draw_live(view, title, lines)
  local here = vim.api.nvim_get_current_win()
  local row, column = unpack(vim.api.nvim_win_get_position(here))
  local width, height = vim.api.nvim_win_get_width(here), vim.api.nvim_win_get_height(here)
  -- the largest part of the screen that the timeline leaves
  local left, right, above = column, vim.o.columns - column - width, row
  local place ---@type { row: integer, col: integer, width: integer, height: integer }
  if math.max(left, right) >= MIN_COLUMNS then
    place = { row = row, col = left >= right and 0 or column + width, width = math.max(left, right), height = height }
  else
    place = { row = 0, col = 0, width = vim.o.columns, height = above }
  end
  if place.height < 5 or place.width < 10 then
    return M.hide(view)
  end
  local options = {
    relative = 'editor',
    row = place.row,
    col = place.col,
    width = place.width - 2,
    height = math.min(place.height - 2, math.max(1, #lines)),
    border = 'rounded',
    title = (' %s '):format(words.line(title, place.width - 4)),
    style = 'minimal',
    focusable = false,
  }
  if view.live and vim.api.nvim_win_is_valid(view.live) then
    vim.api.nvim_win_set_config(view.live, options)
  else
    local buf = vim.api.nvim_create_buf(false, true)
    vim.bo[buf].bufhidden = 'wipe'
    view.live = vim.api.nvim_open_win(buf, false, vim.tbl_extend('force', options, { noautocmd = true }))
    vim.wo[view.live].wrap = false
  end
  local buf = vim.api.nvim_win_get_buf(view.live)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype = 'diff'
  vim.api.nvim_win_set_cursor(view.live, { 1, 0 })
end

--- Shows the changes of the row under the cursor, if the live preview is on.
---@param view backstitch.View
function M.show(view)
  if not view.is_live or vim.api.nvim_get_current_buf() ~= view.buf then
    return M.hide(view)
  end
  local row = views.current_row(view)
  if not row or not row.checkpoint then
    return M.hide(view)
  end
  if view.live_row == row.id and view.live then
    return
  end
  view.live_row = row.id
  task.run(function()
    local lines = M.lines(view, row)
    local now = vim.api.nvim_get_current_buf() == view.buf and views.current_row(view)
    -- the cursor may have moved on
    if now and now.id == row.id and view.is_live then
      draw_live(view, ('%s %s'):format(words.rev(row.checkpoint), words.line(words.about(row.checkpoint), 50)), lines)
    end
  end, function() end) -- a row whose texts are gone has no preview
end

return M
