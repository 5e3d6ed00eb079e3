--- View of held calls: the list, and the files of the call that is shown as they are and as they would be.
local debounce = require('backstitch.debounce')
local float = require('backstitch.float')
local files = require('backstitch.held_files')
local held = require('backstitch.pauses.held')
local held_list = require('backstitch.pauses.list')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 20
local LIST = 'backstitch-pauses://Held calls'

---@type backstitch.HeldView?
local view

--- Maps the keys in a buffer of the view.
---@param buf integer
local function keys_of(buf)
  require('backstitch.pauses.keys').map(buf, view ~= nil and buf == view.list)
end

--- Returns the view, if it is open.
---@return backstitch.HeldView?
function M.get()
  return view
end

--- Returns the window of the list, if it is open.
---@return integer?
local function list_window()
  return view and held_list.window(view)
end

--- True if the user looks at the list's tab page.
---@return boolean
function M.is_looked_at()
  return view ~= nil and vim.api.nvim_get_current_tabpage() == view.tab and list_window() ~= nil
end

--- Draws the list anew, if it is open.
function M.draw()
  if view then
    held_list.draw(view)
  end
end

--- Returns the call of the cursor's row, or the one whose file the window shows, and the file of that row.
---@return backstitch.Pause?, string?
function M.current()
  local buf = vim.api.nvim_get_current_buf()
  if view and buf == view.list then
    local line = view.lines[vim.api.nvim_win_get_cursor(0)[1]]
    return line and line.pause, line and line.path
  end
  local own = files.owner(buf)
  return own and held.open_call(own)
end

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

--- Ends the display of the call that is shown, which is decided. Its windows stay for the next one.
---@param outcome string
local function finish(outcome)
  local shown = view and view.shown
  if not view or not shown then
    return
  end
  view.shown, view.last = nil, shown
  files.finish(shown, outcome)
  M.draw()
end

--- Stores the text of the user as the input with which the call runs, for all who see it. Called by a write.
---@param own backstitch.HeldFiles
local function store(own)
  local client, pause = held.client_of(own), held.open_call(own)
  if not client or not pause then
    return say('this call is no longer held: your text decides nothing')
  end
  task.run(function()
    if files.store(client, own, held.about(pause).workspace) then
      M.draw()
      local problem = words.given(own.details.problem)
      local said = problem and ('%s is refused with this text: %s'):format(pause.id, problem)
        or ('%s continues with this text, once you continue'):format(pause.id)
      say(said)
    end
  end)
end

--- Shows the files of a call below the list: as they are now, and as they would be. The cursor stays where it is.
---@async
---@param client vim.lsp.Client
---@param pause backstitch.Pause
---@param path? string
---@param only_held? boolean Nothing is shown of a call that was decided since its row was read.
function M.show(client, pause, path, only_held)
  ---@type backstitch.PauseDetails
  local details = server.request(client, 'backstitch/pause', held.about(pause))
  local list = list_window()
  if not view or not list or only_held and details.pause.state ~= 'held' then
    return
  end
  local before = view.shown or view.last
  if not view.shown or view.shown.pause ~= pause.id then
    if view.shown and files.is_changed(view.shown) then
      task.fail({
        message = ('%s has text that is not written'):format(view.shown.pause),
        hint = 'write it with :w, or undo it, before you go to another call',
      })
    end
    local kept = files.of(pause)
    view.shown, view.last = kept or files.new(client, details), nil
    if kept then
      -- its buffers have the names already, and may have text that is not written
      kept.client = client.id
      files.refresh(kept, details)
    end
    if before and before ~= kept then
      -- the same windows
      view.shown.left, view.shown.right = before.left, before.right
    end
  else
    files.refresh(view.shown, details)
  end
  local file = files.file(view.shown, path)
  files.show(view.shown, list, file, store, keys_of)
  if before and before ~= view.shown then
    files.wipe(before, false)
  end
  M.draw()
end

--- Shows the next held call: of the session that was stepped, else the first one. Nothing is shown that the user did not ask
--- for: the view is open, and shows no call.
---@param client vim.lsp.Client
local function show_next(client)
  if not view or view.shown then
    return
  end
  local next_one ---@type backstitch.Pause?
  for _, pause in ipairs(view.rows) do
    local is_next = pause.state == 'held'
      and (not next_one or pause.session == view.session and next_one.session ~= view.session)
    next_one = is_next and pause or next_one
  end
  if next_one then
    task.run(function()
      M.show(client, assert(next_one), nil, true)
    end)
  end
end

--- Ends the files of a call that is decided. Those that the view shows stay for the next call.
---@param own backstitch.HeldFiles
---@param outcome string
function M.finish_files(own, outcome)
  if view and view.shown == own then
    finish(outcome)
  elseif not view or view.last ~= own then
    files.finish(own, outcome)
    files.wipe_hidden(own)
  end
end

--- Shows the input of a call as JSON, to be changed.
---@async
---@param client vim.lsp.Client
---@param pause backstitch.Pause
function M.show_input(client, pause)
  if not view or not list_window() then
    task.fail({ message = 'the list of held calls is closed', hint = ':Backstitch pauses opens it' })
  end
  if not view.shown or view.shown.pause ~= pause.id then
    M.show(client, pause)
  end
  local list = list_window()
  if view.shown and list then
    files.show(view.shown, list, nil, store, keys_of)
    vim.api.nvim_set_current_win(assert(view.shown.right))
    M.draw()
  end
end

--- Shows the next or the previous file of the call.
---@param step 1|-1
function M.go(step)
  local list = list_window()
  if view and view.shown and list then
    files.show(view.shown, list, files.next(view.shown, step), store, keys_of)
    M.draw()
  end
end

--- Closes the view. Text that is not written is asked about.
local function close()
  local shown = view and view.shown
  if not view then
    return
  end
  task.run(function()
    if shown and files.is_changed(shown) then
      local drop = 'Drop the text, and close'
      local chosen = task.select({ drop, 'Keep editing' }, {
        prompt = ('%s has text of yours that is not written:'):format(shown.pause),
      })
      if chosen ~= drop then
        return
      end
    end
    local is_own, list = view.own_tab, list_window()
    for _, each in pairs({ shown, view.last }) do
      files.close(each)
      files.wipe(each, true)
    end
    view.shown, view.last = nil, nil
    if is_own and #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
    elseif list then
      vim.api.nvim_set_current_win(list)
      float.leave()
    end
  end)
end

--- Closes a view that opened by itself, once no call is held and the cursor is elsewhere.
local function leave()
  if not view or view.own_tab or #view.rows > 0 then
    return
  end
  local here = vim.api.nvim_get_current_buf()
  if here == view.list or files.is_own(here) or (view.last and files.is_changed(view.last)) then
    return
  end
  local list, last = list_window(), view.last
  if last then
    files.close(last)
    files.wipe(last, true)
  end
  view.last = nil
  if list then
    vim.api.nvim_win_close(list, true)
  end
end

---@param client vim.lsp.Client
local function read(client)
  task.run(function()
    local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
    held.by_client[client.id] = found.pauses
    require('backstitch.held_marks').show(client, found.pauses)
    if view and view.client == client.id then
      view.rows = found.pauses
      M.draw()
      show_next(client)
      leave()
    end
    vim.cmd.redrawstatus()
  end, function() end) -- a workspace without a history has none
end

M.schedule_read = debounce.by_client(DELAY, read)

--- Makes the buffer of the list.
---@param client vim.lsp.Client
---@return integer
local function new_list(client)
  local list = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(list, LIST)
  vim.bo[list].bufhidden = 'wipe'
  vim.bo[list].filetype = 'backstitch-pauses'
  vim.keymap.set('n', '<CR>', function()
    local pause, path = M.current()
    if pause then
      task.run(function()
        M.show(client, pause, path)
      end)
    end
  end, { buffer = list, desc = 'Show the files of the call, or this file' })
  vim.keymap.set('n', 'q', close, { buffer = list, desc = 'Close' })
  -- `:edit` empties a buffer that no file is read into
  vim.api.nvim_create_autocmd('BufReadCmd', { buffer = list, callback = M.draw })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = list,
    callback = function()
      if not view or view.list ~= list then
        return
      end
      local all = { view.shown, view.last }
      view = nil
      vim.schedule(function()
        for _, own in pairs(all) do
          if not files.wipe(own, false) and held.open_call(own) then
            local kept = '%s keeps your unwritten text: it runs once you continue, :Backstitch pauses shows it'
            say(kept:format(own.pause))
          end
        end
      end)
    end,
  })
  return list
end

--- Opens the list in a tab, with the files of the first call. `is_quiet`: below the windows of this tab, and the cursor stays.
---@async
---@param client vim.lsp.Client
---@param is_quiet? boolean
function M.open(client, is_quiet)
  ---@type backstitch.PausesResult
  local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
  held.by_client[client.id] = found.pauses
  if view and list_window() then
    if not is_quiet then
      vim.api.nvim_set_current_win(assert(list_window()))
    end
    view.rows = found.pauses
    M.draw()
  else
    local list = new_list(client)
    if is_quiet then
      vim.api.nvim_open_win(list, false, { split = 'below', win = -1, height = 4 })
    else
      vim.cmd('tab split')
      vim.api.nvim_win_set_buf(0, list)
    end
    view = {
      list = list,
      tab = vim.api.nvim_get_current_tabpage(),
      own_tab = not is_quiet,
      client = client.id,
      rows = found.pauses,
      lines = {},
    }
    local window = assert(list_window())
    vim.wo[window].cursorline, vim.wo[window].wrap = true, false
    vim.wo[window][0].statusline = ' Held calls%=g?: keys '
    vim.wo[window].winbar = 'Held calls   c continue  n step  d deny  e edit input  <Tab> next file  g? keys'
    M.draw()
    keys_of(list)
  end
  show_next(client)
end

return M
