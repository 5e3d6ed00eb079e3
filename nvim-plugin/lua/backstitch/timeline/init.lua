--- Window with the timeline of a workspace: loads it, draws its rows and handles its keys.
local config = require('backstitch.config')
local float = require('backstitch.float')
local model = require('backstitch.timeline.model')
local pick = require('backstitch.pick')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Checkpoints per request.
local PAGE = 100
--- Debounce delay in milliseconds.
local DELAY = 50
--- Interval after which ages are redrawn, in milliseconds.
local MINUTE = 60000

local namespace = vim.api.nvim_create_namespace('backstitch.timeline')

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

--- Keyed by buffer.
---@type table<integer, backstitch.View>
local views = {}

---@param view backstitch.View
local function draw(view)
  if not vim.api.nvim_buf_is_valid(view.buf) then
    return
  end
  local windows = vim.fn.win_findbuf(view.buf)
  local info = windows[1] and vim.fn.getwininfo(windows[1])[1]
  local columns = info and info.width - info.textoff or config.get().timeline.size
  -- each cursor stays on its row
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

---@param view backstitch.View
---@param extra? table
---@return backstitch.TimelineParams
local function params_of(view, extra)
  return vim.tbl_extend('force', { workspace = view.root }, view.filter, extra or {})
end

--- Returns the server of its workspace. A closed timeline sends no more requests.
---@async
---@param view backstitch.View
---@return vim.lsp.Client
local function client_of(view)
  if not views[view.buf] then
    error(task.CALLED_OFF, 0)
  end
  return server.client(view.buf)
end

---@async
---@param view backstitch.View
---@param branch string
---@param before? string
local function read_branch(view, branch, before)
  local client = client_of(view)
  local known = view.timeline.pages[branch]
  local limit = not before and known and math.max(PAGE, #known.checkpoints) or PAGE
  local page =
    server.request(client, 'backstitch/timeline', params_of(view, { branch = branch, limit = limit, before = before }))
  if not before or not known then
    view.timeline.pages[branch] = { checkpoints = page.checkpoints, more = page.more }
  elseif view.timeline.pages[branch] == known and known.checkpoints[#known.checkpoints].id == before then
    -- after a reload or a duplicate request this page is no continuation
    vim.list_extend(known.checkpoints, page.checkpoints)
    known.more = page.more
  end
end

--- Reloads the shown rows. Reloads run one after the other, so that the last answer is the newest.
---@param view backstitch.View
---@param done? fun()
local function refresh(view, done)
  if not views[view.buf] then
    return done and done()
  end
  if view.is_reading then
    view.is_stale = true
    return
  end
  view.is_reading = true
  task.run(function()
    local client = client_of(view)
    local page = server.request(client, 'backstitch/timeline', params_of(view, { limit = 1 }))
    local timeline = view.timeline
    timeline.branches, timeline.current = page.branches, page.branch
    timeline.head = words.given(page.head)
    for _, branch in ipairs(page.branches) do
      local open = timeline.open['branch:' .. branch.name]
      if not branch.deleted and (open or (open == nil and branch.current)) then
        read_branch(view, branch.name)
      end
    end
  end, function(failure)
    view.is_reading = false
    if failure and failure ~= task.CALLED_OFF then
      vim.notify('backstitch: ' .. task.sentence(failure), vim.log.levels.ERROR)
    end
    draw(view)
    if view.is_stale then
      view.is_stale = false
      return refresh(view, done)
    end
    if done then
      done()
    end
  end)
end

---@param view backstitch.View
---@return backstitch.Row?
local function current_row(view)
  return view.rows[vim.api.nvim_win_get_cursor(0)[1]]
end

---@param view backstitch.View
---@param row backstitch.Row
---@param open? boolean
local function fold(view, row, open)
  if row.more then
    return task.run(function()
      local page = view.timeline.pages[row.more]
      read_branch(view, row.more, page.checkpoints[#page.checkpoints].id)
      draw(view)
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
    return refresh(view)
  end
  draw(view)
end

--- Folds the parent of the current row.
---@param view backstitch.View
local function fold_parent(view)
  local at = vim.api.nvim_win_get_cursor(0)[1]
  local row = view.rows[at]
  if row and row.is_open then
    return fold(view, row, false)
  end
  for i = at - 1, 1, -1 do
    local above = view.rows[i]
    if row and above and above.depth < row.depth then
      vim.api.nvim_win_set_cursor(0, { i, 0 })
      return fold(view, above, false)
    end
  end
end

---@param view backstitch.View
---@param open boolean
local function fold_all(view, open)
  local rows
  repeat
    rows = #view.rows
    for _, row in ipairs(view.rows) do
      if row.is_open ~= nil and not row.branch then
        view.timeline.open[row.id] = open
      end
    end
    draw(view)
  -- unfolded rows may have foldable rows themselves
  until not open or #view.rows == rows
end

---@param row? backstitch.Row
---@return backstitch.Checkpoint
local function checkpoint_of(row)
  if not row or not row.checkpoint then
    task.fail({ message = 'there is no checkpoint in this line', hint = 'Put the cursor on one' })
  end
  return row.checkpoint
end

--- Returns the changes of a checkpoint as a diff, of a turn step by step.
---@async
---@param view backstitch.View
---@param row backstitch.Row
---@return string[]
local function diff_lines(view, row)
  local client = client_of(view)
  local checkpoint = checkpoint_of(row)
  local all = checkpoint.kind == 'turn' and row.steps or { checkpoint }
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
  return #lines > 0 and lines or { 'no files changed' }
end

--- Goes to the window for files: the previous window if it shows a file, else another one or a new split.
local function other_window()
  local function is_ordinary(window)
    return vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ''
  end
  local last = vim.fn.win_getid(vim.fn.winnr('#'))
  if last ~= 0 and is_ordinary(last) then
    return vim.api.nvim_set_current_win(last)
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is_ordinary(window) and vim.api.nvim_win_get_config(window).relative == '' then
      return vim.api.nvim_set_current_win(window)
    end
  end
  vim.cmd('topleft vsplit')
end

--- Actions of the keys by name. Failures are shown to the user.
---@type table<string, async fun(view: backstitch.View, row?: backstitch.Row)>
local actions = {
  toggle = function(view, row)
    if row then
      fold(view, row)
    end
  end,
  open = function(view, row)
    if not row or not row.change then
      return row and fold(view, row)
    end
    local path = vim.fs.joinpath(view.root, words.shown(row.change.path))
    if not vim.uv.fs_stat(path) then
      task.fail({
        message = words.shown(row.change.path) .. ' does not exist now',
        hint = 'p shows its changes',
      })
    end
    other_window()
    local buf = vim.fn.bufadd(path)
    vim.bo[buf].buflisted = true
    vim.api.nvim_win_set_buf(0, buf)
    require('backstitch.review').start(vim.api.nvim_get_current_buf(), words.before(checkpoint_of(row)))
  end,
  preview = function(view, row)
    local checkpoint = checkpoint_of(row)
    local lines = diff_lines(view, row --[[@as backstitch.Row]])
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
  diff = function(view, row)
    local client = client_of(view)
    local rev = row and row.branch and (words.given(row.branch.head) or '@') or words.before(checkpoint_of(row))
    server.execute(client, 'backstitch.diff', { workspace = view.root, rev = rev })
  end,
  rewind = function(view, row)
    local checkpoint = checkpoint_of(row)
    local arguments = { workspace = view.root, rev = words.before(checkpoint) }
    if row and row.change then
      arguments.paths = { vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path))) }
    end
    require('backstitch.restore').run(client_of(view), 'rewind', arguments)
  end,
  revert = function(view, row)
    local checkpoint = checkpoint_of(row)
    if row and row.change then
      task.fail({ message = 'a step is reverted with all of its files', hint = 'Put the cursor on it' })
    end
    local arguments = { workspace = view.root }
    if checkpoint.kind == 'turn' then
      arguments.turn = checkpoint.turn
    else
      arguments.step = checkpoint.id
    end
    require('backstitch.restore').run(client_of(view), 'revert', arguments)
  end,
  undo = function(view)
    require('backstitch.restore').run(client_of(view), 'undo', { workspace = view.root })
  end,
  redo = function(view)
    require('backstitch.restore').run(client_of(view), 'redo', { workspace = view.root })
  end,
  fork = function(view, row)
    local commands = require('backstitch.commands')
    commands.fork(client_of(view), { workspace = view.root, rev = words.before(checkpoint_of(row)) })
  end,
  switch = function(view, row)
    if not row or not row.branch then
      task.fail({ message = 'there is no branch in this line', hint = 'Put the cursor on one' })
    end
    require('backstitch.restore').run(client_of(view), 'switch', { workspace = view.root, branch = row.branch.name })
  end,
  tag = function(view, row)
    local commands = require('backstitch.commands')
    commands.tag(client_of(view), { workspace = view.root, rev = words.rev(checkpoint_of(row)) })
  end,
  pin = function(view, row)
    local commands = require('backstitch.commands')
    local checkpoint = checkpoint_of(row)
    commands.pin(client_of(view), {
      workspace = view.root,
      rev = words.rev(checkpoint),
      pinned = not checkpoint.pinned,
    })
  end,
  checkpoint = function(view)
    local label = task.input({ prompt = 'Checkpoint: ' })
    server.execute(client_of(view), 'backstitch.checkpoint', { workspace = view.root, label = label })
  end,
  more = function(view, row)
    local branch = row and row.more or view.timeline.current
    local page = view.timeline.pages[branch]
    if page and page.more then
      read_branch(view, branch, page.checkpoints[#page.checkpoints].id)
      draw(view)
    end
  end,
  refresh = function(view)
    refresh(view)
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

---@param view backstitch.View
local function map_keys(view)
  local function map(key, desc, act)
    vim.keymap.set('n', key, act, { buffer = view.buf, nowait = true, silent = true, desc = 'Backstitch: ' .. desc })
  end
  local keys = config.get().timeline.keys
  for _, each in ipairs(config.TIMELINE_KEYS) do
    local key = keys[each.name]
    if key then
      map(key, each.name, function()
        local row = current_row(view)
        task.run(function()
          actions[each.name](view, row)
        end)
      end)
    end
  end
  local function on_row(act)
    return function()
      local row = current_row(view)
      if row then
        act(row)
      end
    end
  end
  map(
    'za',
    'toggle',
    on_row(function(row)
      fold(view, row)
    end)
  )
  map(
    'zo',
    'unfold',
    on_row(function(row)
      fold(view, row, true)
    end)
  )
  map('zc', 'fold', function()
    fold_parent(view)
  end)
  map('zM', 'fold all', function()
    fold_all(view, false)
  end)
  map('zR', 'unfold all', function()
    fold_all(view, true)
  end)
end

local SPLITS = {
  left = 'topleft vertical %dsplit',
  right = 'botright vertical %dsplit',
  below = 'botright %dsplit',
  tab = 'tab split',
}

---@param buf integer
local function open_window(buf)
  local own = config.get().timeline
  vim.cmd(SPLITS[own.position]:format(own.size))
  vim.api.nvim_win_set_buf(0, buf)
  local options = vim.wo[0][0]
  options.number, options.relativenumber, options.signcolumn, options.foldcolumn = false, false, 'no', '0'
  options.statusline = ' %{fnamemodify(b:backstitch_root, ":t")}: timeline%=g? lists the keys '
  options.wrap, options.cursorline, options.list, options.spell = false, true, false, false
  if own.position == 'left' or own.position == 'right' then
    options.winfixwidth = true
  end
end

---@param root string
---@param filter table
---@return backstitch.View
local function create(root, filter)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, ('backstitch-timeline://%d/%s'):format(buf, vim.fs.basename(root)))
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'backstitch'
  vim.b[buf].backstitch_root = root
  ---@type backstitch.View
  local view = {
    buf = buf,
    root = root,
    filter = filter,
    timeline = { branches = {}, current = '', pages = {}, open = {} },
    rows = {},
    debounce = assert(vim.uv.new_timer()),
    ages = assert(vim.uv.new_timer()),
  }
  views[buf] = view
  map_keys(view)
  local function redraw()
    draw(view)
  end
  view.ages:start(MINUTE, MINUTE, vim.schedule_wrap(redraw))
  local group = vim.api.nvim_create_augroup('backstitch.timeline.' .. buf, {})
  vim.api.nvim_create_autocmd('WinResized', { group = group, callback = redraw })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = buf,
    callback = function()
      views[buf] = nil
      view.debounce:close()
      view.ages:close()
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
  return view
end

local is_listening = false
local function listen()
  if is_listening then
    return
  end
  is_listening = true
  local function on_change(params)
    local root = words.shown(params.workspace)
    for _, view in pairs(views) do
      if view.root == root then
        view.debounce:start(
          DELAY,
          0,
          vim.schedule_wrap(function()
            if views[view.buf] then
              refresh(view)
            end
          end)
        )
      end
    end
  end
  -- there were no notifications while no server was running
  server.on('attached', function()
    for _, view in pairs(views) do
      refresh(view)
    end
  end)
  server.on('backstitch/timelineChanged', on_change)
  server.on('backstitch/didCheckpoint', on_change)
end

--- Opens the timeline of a workspace, or goes to its window. `filter` limits the rows.
---@async
---@param client vim.lsp.Client
---@param where table uri or workspace
---@param filter table
function M.open(client, where, filter)
  listen()
  local page = server.request(client, 'backstitch/timeline', vim.tbl_extend('force', { limit = 1 }, where))
  local root = words.shown(page.workspace)
  server.serves(root, client)
  for _, view in pairs(views) do
    local window = vim.fn.win_findbuf(view.buf)[1]
    if view.root == root and window then
      vim.api.nvim_set_current_win(window)
      view.filter, view.timeline.pages = filter, {}
      return refresh(view)
    end
  end
  local view = create(root, filter)
  open_window(view.buf)
  task.await(function(back)
    refresh(view, back)
  end)
  -- start on the newest entry, below its branch
  if vim.api.nvim_get_current_buf() == view.buf and #view.rows > 1 then
    vim.api.nvim_win_set_cursor(0, { 2, 0 })
  end
end

return M
