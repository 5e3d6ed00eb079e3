--- Keys of a timeline, and their actions on the row under the cursor.
local config = require('backstitch.config')
local float = require('backstitch.float')
local live = require('backstitch.timeline.live')
local rows = require('backstitch.timeline.rows')
local server = require('backstitch.server')
local task = require('backstitch.task')
local views = require('backstitch.timeline.view')
local windows = require('backstitch.timeline.window')
local words = require('backstitch.words')

local M = {}

--- Actions of the keys by name. Failures are shown to the user.
---@type table<string, async fun(view: backstitch.View, row?: backstitch.Row)>
local actions = {
  toggle = function(view, row)
    if row then
      rows.fold(view, row)
    end
  end,
  open = function(view, row)
    if not row or not row.change then
      return row and rows.fold(view, row)
    end
    local path = vim.fs.joinpath(view.root, words.shown(row.change.path))
    if not vim.uv.fs_stat(path) then
      task.fail({
        message = words.shown(row.change.path) .. ' does not exist now',
        hint = 'p shows its changes',
      })
    end
    windows.go_to_files()
    local buf = vim.fn.bufadd(vim.fn.fnamemodify(path, ':.'))
    vim.bo[buf].buflisted = true
    vim.api.nvim_win_set_buf(0, buf)
    -- with what this row changed
    local checkpoint = views.checkpoint_of(row)
    local before = words.given(checkpoint.parent) or checkpoint.id
    require('backstitch.review').start(vim.api.nvim_get_current_buf(), before)
  end,
  preview = function(view, row)
    local checkpoint = views.checkpoint_of(row)
    local lines = live.lines(view, row --[[@as backstitch.Row]])
    float.open({
      title = ('%s %s'):format(words.rev(checkpoint), words.line(words.about(checkpoint), 50)),
      lines = vim.tbl_map(function(line)
        return { { line } }
      end, lines),
      keys = {},
      filetype = 'diff',
      footer = 'q close',
    })
  end,
  live = function(view)
    view.is_live = not view.is_live
    live.show(view)
  end,
  all = function(view)
    view.filter, view.timeline.pages = {}, {}
    views.name_filter(view)
    rows.refresh(view)
  end,
  diff = function(view, row)
    local client = views.client_of(view)
    local rev = row and row.branch and (words.given(row.branch.head) or '@') or words.rev(views.checkpoint_of(row))
    server.execute(client, 'backstitch.diff', { workspace = view.root, rev = rev })
  end,
  rewind = function(view, row)
    local checkpoint = views.checkpoint_of(row)
    local arguments = { workspace = view.root, rev = words.rev(checkpoint) }
    if row and row.change then
      arguments.paths = { vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path))) }
    end
    require('backstitch.restore').run(views.client_of(view), 'rewind', arguments)
  end,
  revert = function(view, row)
    local checkpoint = views.checkpoint_of(row)
    local arguments = { workspace = view.root }
    if row and row.change then
      arguments.paths = { vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path))) }
    end
    if checkpoint.kind == 'turn' then
      arguments.turn = checkpoint.turn
    else
      arguments.step = checkpoint.id
    end
    require('backstitch.restore').run(views.client_of(view), 'revert', arguments)
  end,
  undo = function(view)
    require('backstitch.restore').run(views.client_of(view), 'undo', { workspace = view.root })
  end,
  redo = function(view)
    require('backstitch.restore').run(views.client_of(view), 'redo', { workspace = view.root })
  end,
  fork = function(view, row)
    local commands = require('backstitch.commands')
    commands.fork(views.client_of(view), { workspace = view.root, rev = words.rev(views.checkpoint_of(row)) })
  end,
  switch = function(view, row)
    if not row or not row.branch then
      task.fail({ message = 'There is no branch on this line', hint = 'Put the cursor on one' })
    end
    require('backstitch.restore').run(
      views.client_of(view),
      'switch',
      { workspace = view.root, branch = row.branch.name }
    )
  end,
  tag = function(view, row)
    local commands = require('backstitch.commands')
    commands.tag(views.client_of(view), { workspace = view.root, rev = words.rev(views.checkpoint_of(row)) })
  end,
  pin = function(view, row)
    local commands = require('backstitch.commands')
    local checkpoint = views.checkpoint_of(row)
    commands.pin(views.client_of(view), {
      workspace = view.root,
      rev = words.rev(checkpoint),
      pinned = not checkpoint.pinned,
    })
  end,
  checkpoint = function(view)
    local label = task.input({ prompt = 'Checkpoint: ' })
    server.execute(views.client_of(view), 'backstitch.checkpoint', { workspace = view.root, label = label })
  end,
  more = function(view, row)
    local branch = row and row.more or view.timeline.current
    local page = view.timeline.pages[branch]
    if page and page.more then
      rows.read_branch(view, branch, page.checkpoints[#page.checkpoints].id)
      rows.draw(view)
    end
  end,
  refresh = function(view)
    rows.refresh(view)
  end,
  help = function()
    local keys = config.get().timeline.keys
    local lines = {}
    for _, each in ipairs(config.TIMELINE_KEYS) do
      if keys[each.name] then
        table.insert(
          lines,
          { { (' %-6s'):format(keys[each.name]), 'BackstitchKey' }, { ' ' .. each.desc:gsub('[|`]', '') } }
        )
      end
    end
    float.open({ title = 'Timeline', lines = lines, keys = {}, footer = 'q close' })
  end,
  close = function(view)
    float.leave()
    if vim.api.nvim_buf_is_valid(view.buf) and #vim.fn.win_findbuf(view.buf) == 0 then
      vim.api.nvim_buf_delete(view.buf, { force = true })
    end
  end,
}

--- Maps the keys of a timeline.
---@param view backstitch.View
function M.map(view)
  local function map(key, desc, act)
    vim.keymap.set('n', key, act, { buffer = view.buf, nowait = true, silent = true, desc = 'Backstitch: ' .. desc })
  end
  local keys = config.get().timeline.keys
  for _, each in ipairs(config.TIMELINE_KEYS) do
    local key = keys[each.name]
    if key then
      map(key, each.name, function()
        local row = views.current_row(view)
        task.run(function()
          actions[each.name](view, row)
        end)
      end)
    end
  end
  local function on_row(act)
    return function()
      local row = views.current_row(view)
      if row then
        act(row)
      end
    end
  end
  map(
    'za',
    'toggle',
    on_row(function(row)
      rows.fold(view, row)
    end)
  )
  map(
    'zo',
    'unfold',
    on_row(function(row)
      rows.fold(view, row, true)
    end)
  )
  map('zc', 'fold', function()
    rows.fold_parent(view)
  end)
  map('zM', 'fold all', function()
    rows.fold_all(view, false)
  end)
  map('zR', 'unfold all', function()
    rows.fold_all(view, true)
  end)
end

return M
