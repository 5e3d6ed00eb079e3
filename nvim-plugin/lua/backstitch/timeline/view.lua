--- Timelines that are shown: their state, the row under the cursor, and the server that they ask.
local config = require('backstitch.config')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@class backstitch.View
---@field buf integer
---@field root string
---@field filter table
---@field timeline backstitch.Timeline
---@field rows backstitch.Row[]
---@field is_reading? boolean
---@field is_stale? boolean
---@field debounce uv.uv_timer_t
---@field ages uv.uv_timer_t
---@field session_name? string The session of the filter, for people.
---@field is_live? boolean The changes of the row are shown while the cursor moves.
---@field live? integer Window of the live preview.
---@field live_row? string

--- Keyed by buffer.
---@type table<integer, backstitch.View>
M.all = {}
--- Returns the parameters of a request for the rows of a timeline.
---@param view backstitch.View
---@param extra? table
---@return backstitch.TimelineParams
function M.params_of(view, extra)
  return vim.tbl_extend('force', { workspace = view.root }, view.filter, extra or {})
end

--- Returns the server of its workspace. A closed timeline sends no more requests.
---@async
---@param view backstitch.View
---@return vim.lsp.Client
function M.client_of(view)
  if not M.all[view.buf] then
    error(task.CALLED_OFF, 0)
  end
  return server.client(view.buf)
end

--- Returns the row under the cursor.
---@param view backstitch.View
---@return backstitch.Row?
function M.current_row(view)
  return view.rows[vim.api.nvim_win_get_cursor(0)[1]]
end

--- Returns the checkpoint of a row, or fails.
---@param row? backstitch.Row
---@return backstitch.Checkpoint
function M.checkpoint_of(row)
  if not row or not row.checkpoint then
    task.fail({ message = 'There is no checkpoint on this line', hint = 'Put the cursor on one' })
  end
  return row.checkpoint
end

--- Names the filter in the list and in the status line.
---@param view backstitch.View
function M.name_filter(view)
  local named = {}
  if view.filter.uri then
    local path = vim.uri_to_fname(view.filter.uri)
    table.insert(
      named,
      vim.fs.relpath(view.root, path) or vim.fs.relpath(view.root, vim.uv.fs_realpath(path) or path) or path
    )
  end
  if view.filter.text then
    table.insert(named, ('“%s”'):format(words.line(view.filter.text, 40)))
  end
  if view.filter.session then
    table.insert(named, view.session_name or 'session ' .. view.filter.session)
  end
  view.timeline.filter = #named > 0 and table.concat(named, ', ') or nil
  view.timeline.filter_key = config.get().timeline.keys.all or nil
  vim.b[view.buf].backstitch_filter = view.timeline.filter and ' of ' .. view.timeline.filter or ''
end

return M
