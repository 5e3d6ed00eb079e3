--- Rows of a timeline: loaded from the server, drawn, folded and unfolded.
local config = require('backstitch.config')
local float = require('backstitch.float')
local live = require('backstitch.timeline.live')
local model = require('backstitch.timeline.model')
local server = require('backstitch.server')
local task = require('backstitch.task')
local views = require('backstitch.timeline.view')
local words = require('backstitch.words')

local M = {}

--- Checkpoints per request.
local PAGE = 100

local namespace = vim.api.nvim_create_namespace('backstitch.timeline')

--- Draws the rows anew. Each cursor stays on its row.
---@param view backstitch.View
function M.draw(view)
  if not vim.api.nvim_buf_is_valid(view.buf) then
    return
  end
  local windows = vim.fn.win_findbuf(view.buf)
  local info = windows[1] and vim.fn.getwininfo(windows[1])[1]
  local columns = info and info.width - info.textoff or config.get().timeline.size
  local before = vim.tbl_map(function(window)
    return view.rows[vim.api.nvim_win_get_cursor(window)[1]] or {}
  end, windows)
  view.rows = model.rows(view.timeline, os.time())
  float.write(
    view.buf,
    namespace,
    vim.tbl_map(function(row)
      return model.line(row, columns)
    end, view.rows)
  )
  for at, row in ipairs(view.rows) do
    for i, window in ipairs(windows) do
      if row.id == before[i].id then
        vim.api.nvim_win_set_cursor(window, { at, 0 })
      end
    end
  end
end

--- Loads checkpoints of a branch: those that are shown, or the ones before `before`.
---@async
---@param view backstitch.View
---@param branch string
---@param before? string
function M.read_branch(view, branch, before)
  local client = views.client_of(view)
  local known = view.timeline.pages[branch]
  local limit = not before and known and math.max(PAGE, #known.checkpoints) or PAGE
  local page = server.request(
    client,
    'backstitch/timeline',
    views.params_of(view, { branch = branch, limit = limit, before = before })
  )
  -- a page that arrives after the filter was changed is none of this list
  if not before or not known then
    view.timeline.pages[branch] = { checkpoints = page.checkpoints, more = page.more }
  elseif view.timeline.pages[branch] == known and known.checkpoints[#known.checkpoints].id == before then
    -- after a reload or a duplicate request this page is not a continuation
    vim.list_extend(known.checkpoints, page.checkpoints)
    known.more = page.more
  end
end

--- Reloads the shown rows. Reloads run one after the other, so that the last answer is the newest.
---@param view backstitch.View
---@param done? fun()
function M.refresh(view, done)
  if not views.all[view.buf] then
    return done and done()
  end
  if view.is_reading then
    view.is_stale = true
    return
  end
  view.is_reading = true
  task.run(function()
    local client = views.client_of(view)
    local page = server.request(client, 'backstitch/timeline', views.params_of(view, { limit = 1 }))
    local timeline = view.timeline
    timeline.branches, timeline.current = page.branches, page.branch
    timeline.head, timeline.is_loaded = words.given(page.head), true
    for _, branch in ipairs(page.branches) do
      local open = timeline.open['branch:' .. branch.name]
      if not branch.deleted and (open or (open == nil and branch.current)) then
        M.read_branch(view, branch.name)
      end
    end
  end, function(failure)
    view.is_reading = false
    if failure and failure ~= task.CALLED_OFF then
      require('backstitch.notice').say('backstitch: ' .. task.sentence(failure), vim.log.levels.ERROR)
    end
    M.draw(view)
    live.show(view)
    if view.is_stale then
      view.is_stale = false
      return M.refresh(view, done)
    end
    if done then
      done()
    end
  end)
end

--- Folds or unfolds a row; without `open` it toggles. A row that stands for more checkpoints loads them.
---@param view backstitch.View
---@param row backstitch.Row
---@param open? boolean
function M.fold(view, row, open)
  if row.more then
    return task.run(function()
      local page = view.timeline.pages[row.more]
      M.read_branch(view, row.more, page.checkpoints[#page.checkpoints].id)
      M.draw(view)
    end)
  end
  if row.is_open == nil then
    return
  end
  if open == nil then
    open = not row.is_open
  end
  view.timeline.open[row.id] = open
  if row.branch and open and not view.timeline.pages[row.branch.name] then
    return M.refresh(view)
  end
  M.draw(view)
end

--- Folds the parent of the current row.
---@param view backstitch.View
function M.fold_parent(view)
  local at = vim.api.nvim_win_get_cursor(0)[1]
  local row = view.rows[at]
  if row and row.is_open then
    return M.fold(view, row, false)
  end
  for i = at - 1, 1, -1 do
    local above = view.rows[i]
    if row and above and above.depth < row.depth then
      vim.api.nvim_win_set_cursor(0, { i, 0 })
      return M.fold(view, above, false)
    end
  end
end

--- Folds or unfolds all turns and steps.
---@param view backstitch.View
---@param open boolean
function M.fold_all(view, open)
  local rows
  repeat
    rows = #view.rows
    for _, row in ipairs(view.rows) do
      if row.is_open ~= nil and not row.branch then
        view.timeline.open[row.id] = open
      end
    end
    M.draw(view)
  -- unfolded rows may have foldable rows themselves
  until not open or #view.rows == rows
end

return M
