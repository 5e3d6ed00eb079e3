--- Timeline of a workspace in a window: opened, reloaded after each change, and restored with a session.
local config = require('backstitch.config')
local keys = require('backstitch.timeline.keys')
local live = require('backstitch.timeline.live')
local rows = require('backstitch.timeline.rows')
local server = require('backstitch.server')
local task = require('backstitch.task')
local views = require('backstitch.timeline.view')
local window = require('backstitch.timeline.window')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 50
--- Interval after which ages are redrawn, in milliseconds.
local MINUTE = 60000

--- Names the state that the row under the cursor means in every command: that before a turn, that after any other
--- checkpoint. Evaluated for a status line, whose window is the current one then.
---@return string
function M.state_word()
  local view = views.all[vim.api.nvim_get_current_buf()]
  local row = view and views.current_row(view)
  local checkpoint = row and row.checkpoint
  if not checkpoint then
    return ''
  end
  return (checkpoint.kind == 'turn' and 'before ' or 'after ') .. words.rev(checkpoint)
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
  views.all[buf] = view
  views.name_filter(view)
  keys.map(view)
  local function redraw()
    rows.draw(view)
  end
  -- `:edit` empties a buffer that no file is read into
  vim.api.nvim_create_autocmd('BufReadCmd', { buffer = buf, callback = redraw })
  view.ages:start(MINUTE, MINUTE, vim.schedule_wrap(redraw))
  local group = vim.api.nvim_create_augroup('backstitch.timeline.' .. buf, {})
  vim.api.nvim_create_autocmd('WinResized', { group = group, callback = redraw })
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'WinEnter' }, {
    group = group,
    buffer = buf,
    callback = function()
      live.show(view)
    end,
  })
  vim.api.nvim_create_autocmd({ 'WinLeave', 'BufWinLeave' }, {
    group = group,
    buffer = buf,
    callback = function()
      live.hide(view)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = buf,
    callback = function()
      views.all[buf] = nil
      live.hide(view)
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
    for _, view in pairs(views.all) do
      if view.root == root then
        view.debounce:start(
          DELAY,
          0,
          vim.schedule_wrap(function()
            if views.all[view.buf] then
              rows.refresh(view)
            end
          end)
        )
      end
    end
  end
  -- there were no notifications while no server was running
  server.on('attached', function()
    for _, view in pairs(views.all) do
      rows.refresh(view)
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
  for _, view in pairs(views.all) do
    local windows = vim.fn.win_findbuf(view.buf)
    if view.root == root and #windows > 0 then
      local here = vim.tbl_filter(function(each)
        return vim.api.nvim_win_get_tabpage(each) == vim.api.nvim_get_current_tabpage()
      end, windows)[1]
      if here then
        vim.api.nvim_set_current_win(here)
      else
        window.open(view.buf)
      end
      view.filter, view.timeline.pages, view.session_name = filter, {}, session_name
      views.name_filter(view)
      return rows.refresh(view)
    end
  end
  local view = create(root, filter, session_name)
  window.open(view.buf)
  task.await(function(back)
    rows.refresh(view, back)
  end)
  -- start on the newest entry, below its branch
  if vim.api.nvim_get_current_buf() == view.buf and #view.rows > 1 then
    vim.api.nvim_win_set_cursor(0, { math.min(#view.rows, view.timeline.filter and 3 or 2), 0 })
  end
end

--- Makes room for the timeline in a window of a session that is being restored. The buffer gets no name: a session gives
--- the same name to each of these windows.
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
  local reserved = vim.tbl_filter(function(each)
    return vim.b[vim.api.nvim_win_get_buf(each)].backstitch_reserved
  end, vim.api.nvim_list_wins())
  local root = server.root(vim.uv.cwd() or '.') or vim.uv.cwd()
  if #reserved == 0 or not root then
    return
  end
  task.run(function()
    local client = server.client(nil, root)
    local page = server.request(client, 'backstitch/timeline', { workspace = root, limit = 1 })
    root = words.shown(page.workspace)
    server.serves(root, client)
    listen()
    local view = create(root, {})
    for _, each in ipairs(reserved) do
      if vim.api.nvim_win_is_valid(each) then
        vim.api.nvim_win_call(each, function()
          local columns = vim.api.nvim_win_get_width(each)
          window.show_here(view.buf, columns < vim.o.columns and 'left' or 'below')
        end)
      end
    end
    rows.refresh(view)
  end)
end

return M
