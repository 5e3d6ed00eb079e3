--- Window with the timeline of a workspace: loads it, draws its rows and handles its keys.
local config = require('backstitch.config')
local float = require('backstitch.float')
local outside = require('backstitch.outside')
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
--- A vertical split is at least this wide; where half of the screen is less, the timeline is below.
local MIN_COLUMNS = 40

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
---@field session_name? string The session of the filter, for people.
---@field is_live? boolean The changes of the row are shown while the cursor moves.
---@field live? integer Window of the live preview.
---@field live_row? string

--- Keyed by buffer.
---@type table<integer, backstitch.View>
local views = {}
---@type fun(view: backstitch.View)
local show_live

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
    timeline.head, timeline.is_loaded = words.given(page.head), true
    for _, branch in ipairs(page.branches) do
      local open = timeline.open['branch:' .. branch.name]
      if not branch.deleted and (open or (open == nil and branch.current)) then
        read_branch(view, branch.name)
      end
    end
  end, function(failure)
    view.is_reading = false
    if failure and failure ~= task.CALLED_OFF then
      require('backstitch.notice').say('backstitch: ' .. task.sentence(failure), vim.log.levels.ERROR)
    end
    draw(view)
    show_live(view)
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

--- Names the state that the row under the cursor means in every command: that before a turn, that after any other
--- checkpoint. Evaluated for a status line, whose window is the current one then.
---@return string
function M.state_word()
  local view = views[vim.api.nvim_get_current_buf()]
  local row = view and current_row(view)
  local checkpoint = row and row.checkpoint
  if not checkpoint then
    return ''
  end
  return (checkpoint.kind == 'turn' and 'before ' or 'after ') .. words.rev(checkpoint)
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
    task.fail({ message = 'There is no checkpoint on this line', hint = 'Put the cursor on one' })
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

--- Goes to the window for files: the previous window if it shows a file, else another one or a new split.
local function other_window()
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

--- Names the filter in the list and in the status line.
---@param view backstitch.View
local function name_filter(view)
  local named = {}
  if view.filter.uri then
    local path = vim.uri_to_fname(view.filter.uri)
    table.insert(
      named,
      vim.fs.relpath(view.root, path) or vim.fs.relpath(view.root, vim.uv.fs_realpath(path) or path) or path
    )
  end
  if view.filter.session then
    table.insert(named, view.session_name or 'session ' .. view.filter.session)
  end
  view.timeline.filter = #named > 0 and table.concat(named, ', ') or nil
  view.timeline.filter_key = config.get().timeline.keys.all or nil
  vim.b[view.buf].backstitch_filter = view.timeline.filter and ' of ' .. view.timeline.filter or ''
end

---@param view backstitch.View
local function hide_live(view)
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
    return hide_live(view)
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
function show_live(view)
  if not view.is_live or vim.api.nvim_get_current_buf() ~= view.buf then
    return hide_live(view)
  end
  local row = current_row(view)
  if not row or not row.checkpoint then
    return hide_live(view)
  end
  if view.live_row == row.id and view.live then
    return
  end
  view.live_row = row.id
  task.run(function()
    local lines = diff_lines(view, row)
    local now = vim.api.nvim_get_current_buf() == view.buf and current_row(view)
    -- the cursor may have moved on
    if now and now.id == row.id and view.is_live then
      draw_live(view, ('%s %s'):format(words.rev(row.checkpoint), words.line(words.about(row.checkpoint), 50)), lines)
    end
  end, function() end) -- a row whose texts are gone has no preview
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
    local buf = vim.fn.bufadd(vim.fn.fnamemodify(path, ':.'))
    vim.bo[buf].buflisted = true
    vim.api.nvim_win_set_buf(0, buf)
    -- with what this row changed
    local checkpoint = checkpoint_of(row)
    local before = words.given(checkpoint.parent) or checkpoint.id
    require('backstitch.review').start(vim.api.nvim_get_current_buf(), before)
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
  live = function(view)
    view.is_live = not view.is_live
    show_live(view)
  end,
  all = function(view)
    view.filter, view.timeline.pages = {}, {}
    name_filter(view)
    refresh(view)
  end,
  diff = function(view, row)
    local client = client_of(view)
    local rev = row and row.branch and (words.given(row.branch.head) or '@') or words.rev(checkpoint_of(row))
    server.execute(client, 'backstitch.diff', { workspace = view.root, rev = rev })
  end,
  rewind = function(view, row)
    local checkpoint = checkpoint_of(row)
    local arguments = { workspace = view.root, rev = words.rev(checkpoint) }
    if row and row.change then
      arguments.paths = { vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path))) }
    end
    require('backstitch.restore').run(client_of(view), 'rewind', arguments)
  end,
  revert = function(view, row)
    local checkpoint = checkpoint_of(row)
    local arguments = { workspace = view.root }
    if row and row.change then
      arguments.paths = { vim.uri_from_fname(vim.fs.joinpath(view.root, words.shown(row.change.path))) }
    end
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
    commands.fork(client_of(view), { workspace = view.root, rev = words.rev(checkpoint_of(row)) })
  end,
  switch = function(view, row)
    if not row or not row.branch then
      task.fail({ message = 'There is no branch on this line', hint = 'Put the cursor on one' })
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

--- Shows a timeline in the current window.
---@param buf integer
---@param position string
local function show_here(buf, position)
  -- a split takes the options of the window
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, buf)
  local options = vim.wo[0][0]
  options.number, options.relativenumber, options.signcolumn, options.foldcolumn = false, false, 'no', '0'
  options.foldenable, options.statuscolumn, options.winbar, options.colorcolumn = false, '', '', ''
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

---@param buf integer
local function open_window(buf)
  local position, size = place()
  vim.cmd.split({ mods = SPLITS[position], range = position ~= 'tab' and { size } or nil })
  show_here(buf, position)
end

---@param root string
---@param filter table
---@param session_name? string
---@return backstitch.View
local function create(root, filter, session_name)
  local buf = vim.api.nvim_create_buf(false, true)
  -- Neovim shortens the directories of a name in the label of a tab
  local name = ('backstitch-timeline://%s timeline'):format(vim.fs.basename(root))
  if vim.fn.bufnr(('^%s$'):format(vim.fn.escape(name, '\\[]*?{}'))) ~= -1 then
    name = ('%s %d'):format(name, buf)
  end
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'backstitch'
  vim.b[buf].backstitch_root = root
  ---@type backstitch.View
  local view = {
    buf = buf,
    root = root,
    filter = filter,
    session_name = session_name,
    timeline = { branches = {}, current = '', pages = {}, open = {} },
    rows = {},
    debounce = assert(vim.uv.new_timer()),
    ages = assert(vim.uv.new_timer()),
    is_live = config.get().timeline.preview,
  }
  views[buf] = view
  name_filter(view)
  map_keys(view)
  local function redraw()
    draw(view)
  end
  view.ages:start(MINUTE, MINUTE, vim.schedule_wrap(redraw))
  local group = vim.api.nvim_create_augroup('backstitch.timeline.' .. buf, {})
  vim.api.nvim_create_autocmd('WinResized', { group = group, callback = redraw })
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'WinEnter' }, {
    group = group,
    buffer = buf,
    callback = function()
      show_live(view)
    end,
  })
  vim.api.nvim_create_autocmd({ 'WinLeave', 'BufWinLeave' }, {
    group = group,
    buffer = buf,
    callback = function()
      hide_live(view)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = buf,
    callback = function()
      views[buf] = nil
      hide_live(view)
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
---@param session_name? string The session of the filter, for people.
function M.open(client, where, filter, session_name)
  listen()
  local page = server.request(client, 'backstitch/timeline', vim.tbl_extend('force', { limit = 1 }, where))
  local root = words.shown(page.workspace)
  server.serves(root, client)
  for _, view in pairs(views) do
    local windows = vim.fn.win_findbuf(view.buf)
    if view.root == root and #windows > 0 then
      local here = vim.tbl_filter(function(window)
        return vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage()
      end, windows)[1]
      if here then
        vim.api.nvim_set_current_win(here)
      else
        open_window(view.buf)
      end
      view.filter, view.timeline.pages, view.session_name = filter, {}, session_name
      name_filter(view)
      return refresh(view)
    end
  end
  local view = create(root, filter, session_name)
  open_window(view.buf)
  task.await(function(back)
    refresh(view, back)
  end)
  -- start on the newest entry, below its branch
  if vim.api.nvim_get_current_buf() == view.buf and #view.rows > 1 then
    vim.api.nvim_win_set_cursor(0, { math.min(#view.rows, view.timeline.filter and 3 or 2), 0 })
  end
end

--- Makes room for the timeline in a window of a session that is being restored: the buffer gets no name, since a session
--- gives the same name to each of these windows.
---@param buf integer
function M.reserve(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  vim.b[buf].backstitch_reserved = true
  vim.bo[buf].buftype, vim.bo[buf].bufhidden = 'nofile', 'wipe'
  vim.cmd('silent 0file')
  -- Neovim leaves a buffer with the old name
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(other) == name then
      vim.api.nvim_buf_delete(other, { force = true })
    end
  end
end

--- Shows the timeline of the current directory in the windows of a restored session that had one.
function M.restore()
  local windows = vim.tbl_filter(function(window)
    return vim.b[vim.api.nvim_win_get_buf(window)].backstitch_reserved
  end, vim.api.nvim_list_wins())
  local root = server.root(vim.uv.cwd() or '.') or vim.uv.cwd()
  if #windows == 0 or not root then
    return
  end
  task.run(function()
    local client = server.client(nil, root)
    local page = server.request(client, 'backstitch/timeline', { workspace = root, limit = 1 })
    root = words.shown(page.workspace)
    server.serves(root, client)
    listen()
    local view = create(root, {})
    for _, window in ipairs(windows) do
      if vim.api.nvim_win_is_valid(window) then
        vim.api.nvim_win_call(window, function()
          local columns = vim.api.nvim_win_get_width(window)
          show_here(view.buf, columns < vim.o.columns and 'left' or 'below')
        end)
      end
    end
    refresh(view)
  end)
end

return M
