--- The files of one held call: as they are now, and as they would be. Owns their buffers, and the text in them that is not
--- written yet.
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

local SCHEME = 'backstitch-held://'

---@class backstitch.HeldFiles
---@field pause string
---@field client integer
---@field details backstitch.PauseDetails
---@field buffers table<string, integer> Keyed by `kind/path`.
---@field left? integer Window of a file as it is now.
---@field right? integer Window of the text that can be edited.
---@field path? string The file that is shown. Without it: the input.

--- Calls whose files have buffers. Not limited to those that a list shows: a text outlives the windows and the list.
---@type table<string, backstitch.HeldFiles>
local by_call = {}

--- Returns the key of a call: each workspace numbers its own.
---@param pause backstitch.Pause
---@return string
local function key_of(pause)
  return ('%s %s'):format(pause.id, words.shown(pause.root))
end

---@param pause string
---@param kind 'now'|'then'|'input'
---@param path string
---@return string
local function name_of(pause, kind, path)
  return ('%s%s/%s/%s'):format(SCHEME, pause, kind, path)
end

---@param buf integer
---@param text string
local function set_text(buf, text)
  local lines = vim.split(text, '\n', { plain = true })
  local has_end = lines[#lines] == ''
  if has_end and #lines > 1 then
    table.remove(lines)
  end
  local is_modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.bo[buf].endofline, vim.bo[buf].fixendofline = has_end, false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modified = false
  vim.bo[buf].modifiable = is_modifiable
end

---@param buf integer
---@return string
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  return vim.bo[buf].endofline and text .. '\n' or text
end

--- True if a buffer is one of a held call.
---@param buf integer
---@return boolean
function M.is_own(buf)
  return vim.startswith(vim.api.nvim_buf_get_name(buf), SCHEME)
end

--- Returns the held call that a buffer belongs to.
---@param buf integer
---@return string?
function M.pause_of(buf)
  return vim.api.nvim_buf_get_name(buf):match('^backstitch%-held://(p%d+)/')
end

--- True if a file of a call is shown as text. A binary file, and one that is too large, is in the list alone.
---@param file backstitch.PredictedFile
---@return boolean
function M.has_text(file)
  return words.given(file.now) ~= nil or words.given(file['then']) ~= nil
end

--- Returns the files of a call that are shown as text.
---@param details backstitch.PauseDetails
---@return backstitch.PredictedFile[]
local function texts(details)
  return vim.tbl_filter(M.has_text, details.predicted)
end

---@param client vim.lsp.Client
---@param details backstitch.PauseDetails
---@return backstitch.HeldFiles
function M.new(client, details)
  local files = { pause = details.pause.id, client = client.id, details = details, buffers = {} }
  by_call[key_of(details.pause)] = files
  return files
end

--- Returns the files of a call. Nil: it has no buffer.
---@param pause backstitch.Pause
---@return backstitch.HeldFiles?
function M.of(pause)
  return by_call[key_of(pause)]
end

--- Returns the files that a buffer belongs to.
---@param buf integer
---@return backstitch.HeldFiles?
function M.owner(buf)
  for _, files in pairs(by_call) do
    if vim.list_contains(vim.tbl_values(files.buffers), buf) then
      return files
    end
  end
end

--- Returns the buffers with text of the user that is not written.
---@param files backstitch.HeldFiles
---@return { kind: string, path: string, buf: integer }[]
local function unwritten(files)
  local found = {}
  for key, buf in pairs(files.buffers) do
    if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
      local kind, path = key:match('^(%l+)/(.*)$')
      table.insert(found, { kind = kind, path = path, buf = buf })
    end
  end
  table.sort(found, function(a, b)
    return a.path < b.path
  end)
  return found
end

--- True if the user has changed a text without writing it.
---@param files backstitch.HeldFiles
---@return boolean
function M.is_changed(files)
  return #unwritten(files) > 0
end

---@param files backstitch.HeldFiles
---@return boolean is_empty
local function forget_empty(files)
  local is_empty = next(files.buffers) == nil
  local key = key_of(files.details.pause)
  if is_empty and by_call[key] == files then
    by_call[key] = nil
  end
  return is_empty
end

--- Deletes the buffers. Those with unwritten text stay, unless `force` is set.
---@param files backstitch.HeldFiles
---@param force boolean
---@return boolean is_empty
function M.wipe(files, force)
  for key, buf in pairs(files.buffers) do
    if not vim.api.nvim_buf_is_valid(buf) or force or not vim.bo[buf].modified then
      if vim.api.nvim_buf_is_valid(buf) then
        vim.api.nvim_buf_delete(buf, { force = true })
      end
      files.buffers[key] = nil
    end
  end
  return forget_empty(files)
end

--- Deletes the buffers that no window shows. Those with unwritten text stay.
---@param files backstitch.HeldFiles
function M.wipe_hidden(files)
  for key, buf in pairs(files.buffers) do
    local is_valid = vim.api.nvim_buf_is_valid(buf)
    if not is_valid or not vim.bo[buf].modified and #vim.fn.win_findbuf(buf) == 0 then
      if is_valid then
        vim.api.nvim_buf_delete(buf, { force = true })
      end
      files.buffers[key] = nil
    end
  end
  forget_empty(files)
end

--- True if the user may change a text.
---@param files backstitch.HeldFiles
---@param key string
---@return boolean
local function is_editable(files, key)
  return not vim.startswith(key, 'now/') and vim.list_contains(files.details.pause.can, 'change')
end

---@param window? integer
---@return integer?
local function valid(window)
  return window and vim.api.nvim_win_is_valid(window) and window or nil
end

--- Returns a window of the files, if it is in the tab page of the list.
---@param window? integer
---@param list integer
---@return integer?
local function beside(window, list)
  local page = vim.api.nvim_win_get_tabpage
  return valid(window) and page(assert(window)) == page(list) and window or nil
end

--- Shows a title above a window. A path that is too long is cut in front: what it is about and the file's name stay.
---@param window integer
---@param about string
---@param path? string
---@param hints? string[] Words behind the path, the longest first: those that fit.
local function title(window, about, path, hints)
  local start, name = outside.status(about), outside.status(path or '')
  local room = vim.api.nvim_win_get_width(window) - vim.fn.strdisplaywidth(start .. name)
  local hint = vim.iter(hints or {}):find(function(each)
    return vim.fn.strdisplaywidth(each) <= room
  end)
  vim.wo[window].winbar = start .. '%<' .. name .. outside.status(hint or '')
end

--- Says in and above the windows of a call which side is which.
---@param files backstitch.HeldFiles
local function entitle(files)
  local left, right, pause = valid(files.left), valid(files.right), files.details.pause
  if not right or not M.is_own(vim.api.nvim_win_get_buf(right)) then
    return
  end
  local is_open = vim.list_contains(pause.can, 'change')
  local edits = is_open and { '   you may edit, :w checks it', '   you may edit' } or {}
  local file = vim.iter(files.details.predicted):find(function(each)
    return words.shown(each.path) == files.path
  end)
  if not file then
    title(right, ('%s: input of %s'):format(files.pause, pause.tool), nil, edits)
    outside.name_window(right, 'input')
  else
    local changed_by, moved = words.given(pause.changedBy), words.given(file.movedFrom)
    local side = changed_by and 'as changed in ' .. words.place(changed_by) or 'as the agent would write it'
    title(right, ('%s: %s '):format(side, file.letter), files.path, edits)
    outside.name_window(right, 'after ' .. files.path)
    if left then
      title(left, 'now: ', moved and words.shown(moved) or files.path)
      outside.name_window(left, 'now ' .. files.path)
    end
  end
end

--- Shows the input and the texts that run, after they were changed. Text that the user has not written stays.
---@param files backstitch.HeldFiles
---@param details backstitch.PauseDetails
function M.refresh(files, details)
  files.details = details
  local now = { ['input/input.json'] = details.inputText .. '\n' }
  for _, file in ipairs(details.predicted) do
    local path = words.shown(file.path)
    now['now/' .. path] = words.given(file.now) or ''
    now['then/' .. path] = words.given(file['then']) or ''
  end
  for key, buf in pairs(files.buffers) do
    local text = now[key]
    if text and vim.api.nvim_buf_is_valid(buf) and not vim.bo[buf].modified and text_of(buf) ~= text then
      set_text(buf, text)
    end
    if vim.api.nvim_buf_is_valid(buf) then
      -- it may have been decided, and is held again
      vim.bo[buf].modifiable = is_editable(files, key)
    end
  end
  entitle(files)
end

--- Stores the texts that the user has changed as the input with which the call runs.
---@async
---@param client vim.lsp.Client
---@param files backstitch.HeldFiles
---@param root string
---@return boolean has_changed
function M.store(client, files, root)
  local changed = unwritten(files)
  if #changed == 0 then
    return false
  end
  local params = { pause = files.pause, workspace = root } ---@type table<string, any>
  for _, each in ipairs(changed) do
    if each.kind == 'input' then
      params.inputText = text_of(each.buf)
    else
      params['then'] = params['then'] or {}
      table.insert(params['then'], { path = each.path, text = text_of(each.buf) })
    end
  end
  if params.inputText and params['then'] then
    task.fail({
      message = ('%s is changed twice: as an input, and as the text of a file'):format(files.pause),
      hint = 'undo one of the two changes',
    })
  end
  ---@type backstitch.PauseDetails
  local details = server.request(client, 'backstitch/draft', params)
  for _, each in ipairs(changed) do
    if vim.api.nvim_buf_is_valid(each.buf) then
      vim.bo[each.buf].modified = false
    end
  end
  M.refresh(files, details)
  return true
end

---@param files backstitch.HeldFiles
---@param kind 'now'|'then'|'input'
---@param path string
---@param text string
---@param on_write fun(files: backstitch.HeldFiles)
---@param map fun(buf: integer)
---@return integer buf
local function buffer(files, kind, path, text, on_write, map)
  local key = kind .. '/' .. path
  local known = files.buffers[key]
  if known and vim.api.nvim_buf_is_valid(known) then
    return known
  end
  local name = name_of(files.pause, kind, path)
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    local owner = vim.api.nvim_buf_get_name(each) == name and (M.owner(each) or files)
    if owner == files then
      -- text that was not written when the call was decided
      files.buffers[key] = each
      if not vim.bo[each].modified then
        set_text(each, text)
      end
      vim.bo[each].modifiable = is_editable(files, key)
      return each
    elseif owner then
      -- a call of another workspace has the same number
      if vim.bo[each].modified then
        task.fail({
          message = ('%s of %s has text that is not written'):format(
            owner.pause,
            words.shown(owner.details.pause.root)
          ),
          hint = 'write it with :w, or undo it',
        })
      end
      vim.api.nvim_buf_delete(each, { force = true })
    end
  end
  local buf = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].swapfile = false
  vim.bo[buf].bufhidden = 'hide'
  if kind == 'now' then
    vim.bo[buf].buftype = 'nofile'
  else
    vim.bo[buf].buftype = 'acwrite'
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buf,
      callback = function()
        on_write(M.owner(buf) or files)
      end,
    })
  end
  set_text(buf, text)
  vim.bo[buf].modifiable = is_editable(files, key)
  -- a program of the file's type is not to start in it, and no modeline counts
  vim.bo[buf].modeline = false
  local filetype = kind == 'input' and 'json' or vim.filetype.match({ filename = path, buf = buf })
  if filetype then
    vim.bo[buf].filetype = filetype
  end
  map(buf)
  files.buffers[key] = buf
  return buf
end

--- Shows a file of a call below its list, or its input, without moving the cursor from its window. The windows that are there
--- are used again.
---@param files backstitch.HeldFiles
---@param list integer Window of the list.
---@param file? backstitch.PredictedFile Without it: the input.
---@param on_write fun(files: backstitch.HeldFiles)
---@param map fun(buf: integer)
function M.show(files, list, file, on_write, map)
  local left, right = beside(files.left, list), beside(files.right, list)
  for _, window in pairs({ left, right }) do
    vim.wo[window].winfixbuf = false
    vim.api.nvim_win_call(window, vim.cmd.diffoff)
  end
  if not file then
    if left then
      vim.api.nvim_win_close(left, true)
      left = nil
    end
    local buf = buffer(files, 'input', 'input.json', files.details.inputText .. '\n', on_write, map)
    right = right or vim.api.nvim_open_win(buf, false, { split = 'below', win = list })
    vim.api.nvim_win_set_buf(right, buf)
    files.left, files.right, files.path = nil, right, nil
    return entitle(files)
  end
  local path = words.shown(file.path)
  local now = buffer(files, 'now', path, words.given(file.now) or '', on_write, map)
  local after = buffer(files, 'then', path, words.given(file['then']) or '', on_write, map)
  right = right or vim.api.nvim_open_win(after, false, { split = 'below', win = list })
  vim.api.nvim_win_set_buf(right, after)
  left = left or vim.api.nvim_open_win(now, false, { split = 'left', win = right })
  vim.api.nvim_win_set_buf(left, now)
  for _, window in ipairs({ left, right }) do
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
  end
  files.left, files.right, files.path = left, right, path
  entitle(files)
end

--- Returns the file that is to be shown: the one with this path, else the first with a text.
---@param files backstitch.HeldFiles
---@param path? string
---@return backstitch.PredictedFile?
function M.file(files, path)
  local all = texts(files.details)
  for _, file in ipairs(all) do
    if words.shown(file.path) == path then
      return file
    end
  end
  return all[1]
end

--- Returns the file after the one that is shown, or before it.
---@param files backstitch.HeldFiles
---@param step 1|-1
---@return backstitch.PredictedFile?
function M.next(files, step)
  local all = texts(files.details)
  for i, file in ipairs(all) do
    if words.shown(file.path) == files.path then
      return all[(i - 1 + step) % #all + 1]
    end
  end
  return all[1]
end

--- Drops the text that the user has not written.
---@param files backstitch.HeldFiles
function M.drop(files)
  for _, each in ipairs(unwritten(files)) do
    vim.bo[each.buf].modified = false
  end
end

--- Says above the files of a call that it is decided, and what came of it.
---@param files backstitch.HeldFiles
---@param outcome string
function M.finish(files, outcome)
  local is_shown = function(window)
    return M.is_own(vim.api.nvim_win_get_buf(window))
  end
  for _, window in ipairs(vim.tbl_filter(is_shown, vim.tbl_values({ valid(files.left), valid(files.right) }))) do
    title(window, ('%s: %s'):format(files.pause, outcome))
  end
  for _, buf in pairs(files.buffers) do
    if vim.api.nvim_buf_is_valid(buf) and not vim.bo[buf].modified then
      vim.bo[buf].modifiable = false
    end
  end
end

--- Closes the windows of the files.
---@param files backstitch.HeldFiles
function M.close(files)
  for _, window in pairs({ valid(files.left), valid(files.right) }) do
    pcall(vim.api.nvim_win_close, window, true)
  end
  files.left, files.right = nil, nil
end

return M
