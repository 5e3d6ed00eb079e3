--- Reloads buffers after an agent or a rewind wrote their file, without a question. Only the lines that differ are replaced,
--- so the cursor, marks, folds and a line that is being typed stay with their text. Undo reaches the text before the reload.
local config = require('backstitch.config')
local hunks = require('backstitch.hunks')
local server = require('backstitch.server')
local task = require('backstitch.task')

local M = {}

--- Debounce delay in milliseconds.
local DELAY = 30
--- Delay until a file that was found empty is read again, in milliseconds: a program may be about to fill it.
local EMPTY_DELAY = 1000
--- Delay until a missing file is reported, in milliseconds: it may be on its way to another name.
local GONE_DELAY = 1000
--- Files of more bytes are reloaded as Neovim does it.
local MAX_BYTES = 10 * 1024 * 1024
--- The lines of files of more bytes are not kept for a merge.
local MAX_BASE = 1024 * 1024

---@class backstitch.Reloads
---@field known? string State of the file with which the buffer agrees.
---@field base? string[] The file's lines that unsaved text began with; nil if only the server knows them.
---@field has_end? boolean True if these end with a line break.
---@field empty_since? number When the file was first found empty.
---@field gone_since? number When the file was first missing.
---@field is_gone? boolean True if the user knows that the file was deleted.

---@class backstitch.Merging
---@field after fun()[] Merges that wait for the end of this one.
---@field root? string Workspace of a reload that waits for it.

---@type table<integer, backstitch.Reloads>
local states = {}
--- Workspaces with changes that wait until the user is in Normal mode.
---@type table<string, true>
local waiting = {}
--- Buffers whose unsaved text and file are being merged.
---@type table<integer, backstitch.Merging>
local merging = {}

---@param root string
---@param buf integer
local function is_below(root, buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' then
    return false
  end
  return vim.startswith(name, root .. '/') or vim.startswith(vim.uv.fs_realpath(name) or name, root .. '/')
end

---@param buf integer
local function check(buf)
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      -- a deleted file keeps its buffer text, and so does a buffer that was edited meanwhile
      local reason = vim.v.fcs_reason
      vim.v.fcs_choice = (reason == 'changed' or reason == 'time' or reason == 'mode') and 'reload' or ''
    end,
  })
  -- a reload of more lines than 'undoreload' would lose the undo history
  local lines = vim.o.undoreload
  vim.o.undoreload = -1
  local ok, err = pcall(vim.cmd.checktime, buf)
  vim.o.undoreload = lines
  vim.api.nvim_del_autocmd(id)
  if not ok then
    require('backstitch.notice').say('backstitch: ' .. tostring(err), vim.log.levels.WARN)
  end
end

---@param path string
---@return string? state what tells one state of a file from the next
function M.stat(path)
  local found = vim.uv.fs_stat(path)
  if not found or found.type ~= 'file' then
    return nil
  end
  return ('%d.%d %d %d %d'):format(found.mtime.sec, found.mtime.nsec, found.size, found.ino, found.mode)
end

---@param text string
local function is_utf8(text)
  if not text:find('[\128-\255]') then
    return true
  end
  text = text:gsub('[\194-\223][\128-\191]', 'a')
  text = text:gsub('[\224-\239][\128-\191][\128-\191]', 'a')
  text = text:gsub('[\240-\244][\128-\191][\128-\191][\128-\191]', 'a')
  return not text:find('[\128-\255]')
end

--- Returns a file's lines as the buffer would have them; nil where only Neovim itself knows how to read it.
---@param buf integer
---@param path string
---@return string[]? lines, boolean? has_end, string? text
local function lines_of(buf, path)
  local options = vim.bo[buf]
  local encoding, format = options.fileencoding, options.fileformat
  if options.binary or (encoding ~= '' and encoding ~= 'utf-8') or (format ~= 'unix' and format ~= 'dos') then
    return nil
  end
  local file = io.open(path, 'rb')
  local text = file and file:read(MAX_BYTES + 1)
  if file then
    file:close()
  end
  if not text or #text > MAX_BYTES or text:find('\0', 1, true) or not is_utf8(text) then
    return nil
  end
  local has_bom = vim.startswith(text, '\239\187\191')
  if has_bom ~= options.bomb then
    return nil
  end
  local lines = vim.split(has_bom and text:sub(4) or text, '\n', { plain = true })
  local has_end = #lines > 1 and lines[#lines] == ''
  if has_end then
    table.remove(lines)
  end
  local returns, count = 0, has_end and #lines or #lines - 1
  for i = 1, count do
    returns = returns + (vim.endswith(lines[i] or '', '\r') and 1 or 0)
  end
  if (count > 0 and returns == count) ~= (format == 'dos') then
    return nil
  end
  if format == 'dos' then
    for i = 1, count do
      lines[i] = lines[i]:sub(1, -2)
    end
  end
  return lines, has_end, text
end

--- True if another plugin writes this file.
---@param buf integer
---@param path string
local function has_own_writer(buf, path)
  for _, autocmd in ipairs(vim.api.nvim_get_autocmds({ event = 'BufWriteCmd' })) do
    if autocmd.buflocal then
      if autocmd.buffer == buf then
        return true
      end
    elseif vim.regex(vim.fn.glob2regpat(autocmd.pattern)):match_str(path) then
      return true
    end
  end
  return false
end

--- Tells Neovim that the buffer agrees with its file as it is now. It takes the file's time after an autocommand that
--- wrote the file; nothing is written here.
---@param buf integer
---@return boolean
local function agree(buf)
  local options = vim.bo[buf]
  local readonly, modified = options.readonly, options.modified
  local id = vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  local ok = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd('silent lockmarks keepalt keepjumps write!')
  end)
  vim.api.nvim_del_autocmd(id)
  vim.bo[buf].readonly = readonly
  if not ok then
    vim.bo[buf].modified = modified
  end
  return ok
end

--- Runs a merge of a buffer and its file. There is one at a time, and no reload of the buffer meanwhile: each begins with
--- the base that the one before has set.
---@async
---@generic T
---@param buf integer
---@param merge async fun(): T
---@return T
function M.alone(buf, merge)
  while merging[buf] do
    task.await(function(back)
      table.insert(merging[buf].after, back)
    end)
  end
  local own = { after = {} } ---@type backstitch.Merging
  merging[buf] = own
  local ok, result = pcall(merge)
  merging[buf] = nil
  for _, back in ipairs(own.after) do
    vim.schedule(back)
  end
  if own.root then
    M.below(own.root)
  end
  if not ok then
    error(result, 0)
  end
  return result
end

--- Tells the server which text of the file a buffer has by now. It cannot know that from the changes alone: they may come
--- together with typed keys, or when the file has been written again.
---@param buf integer
---@param text string
local function tell_base(buf, text)
  local client = vim.lsp.get_clients({ name = 'backstitch', bufnr = buf })[1]
  if not client then
    return
  end
  local arguments = { uri = vim.uri_from_bufnr(buf), merged = text }
  task.run(function()
    M.alone(buf, function()
      server.execute(client, 'backstitch.merge', arguments, buf)
    end)
  end, function() end) -- a server that starts anew reads the file
end

--- Reloads one buffer by its hunks. Returns false where Neovim is to reload it, or the user is to decide.
---@param buf integer
---@param path string
---@return boolean
local function reload(buf, path)
  local state = states[buf] or {}
  states[buf] = state
  local before = M.stat(path)
  if not before or before == state.known then
    return true
  end
  if not vim.o.write or has_own_writer(buf, path) then
    return false
  end
  local lines, has_end, text = lines_of(buf, path)
  local now = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  if not lines or (#lines == 1 and lines[1] == '') or (#now == 1 and now[1] == '') then
    return false
  end
  local modified = vim.bo[buf].modified
  if modified and has_end == vim.bo[buf].endofline and vim.deep_equal(now, lines) then
    -- an edit of the server, and the file, have arrived at the same text
    modified = false
  end
  local changes = hunks.between(modified and state.base or now, lines)
  if modified then
    local merged = state.base and hunks.rebased(changes, hunks.between(state.base, now))
    if not merged or has_end ~= vim.bo[buf].endofline then
      return false
    end
    changes = merged
  end
  hunks.apply(buf, changes, lines)
  vim.bo[buf].endofline = has_end
  if not agree(buf) then
    return false
  end
  state.known, state.base, state.has_end = before, lines, has_end
  if modified then
    vim.bo[buf].modified = true
  end
  if modified or #changes > 0 then
    tell_base(buf, text or '')
  end
  if #changes > 0 then
    require('backstitch.lenses').refresh(buf)
    vim.api.nvim_exec_autocmds('FileChangedShellPost', { buffer = buf, modeline = false })
  end
  return true
end

--- Notes that the server has merged a file into the unsaved text of its buffer, which is still to be saved.
---@param buf integer
---@param before string? State of the file before the merge.
---@return boolean is_current False if the file was written again meanwhile. Only the server then knows what it merged.
function M.merged(buf, before)
  local path = vim.api.nvim_buf_get_name(buf)
  local lines, has_end = lines_of(buf, path)
  if not before or M.stat(path) ~= before then
    states[buf] = {}
    return false
  end
  if lines and vim.deep_equal(lines, vim.api.nvim_buf_get_lines(buf, 0, -1, true)) then
    -- nothing is unsaved: the next reload notes it
    return true
  end
  states[buf] = { known = agree(buf) and before or nil, base = lines, has_end = has_end }
  vim.bo[buf].modified = true
  return true
end

--- Returns the text of the file that the unsaved text of a buffer began with; nil if only the server knows it. The server
--- knows another one where the file was written between a read of the buffer and the server's own.
---@param buf integer
---@return string?
function M.base(buf)
  local state, options = states[buf], vim.bo[buf]
  if not state or not state.base then
    return nil
  end
  local ending = options.fileformat == 'dos' and '\r\n' or '\n'
  local text = table.concat(state.base, ending) .. (state.has_end and ending or '')
  return (options.bomb and '\239\187\191' or '') .. text
end

--- True if a file changed in a way that is not merged into the unsaved text of its buffer yet.
---@param buf integer
---@return boolean
function M.is_behind(buf)
  local lines = vim.bo[buf].modified and lines_of(buf, vim.api.nvim_buf_get_name(buf))
  if not lines then
    return false
  end
  local base = (states[buf] or {}).base
  return not base or not vim.deep_equal(lines, base)
end

---@param buf integer
---@param root string
local function bring_up_to_date(buf, root)
  if merging[buf] then
    merging[buf].root = root
    return
  end
  local path = vim.api.nvim_buf_get_name(buf)
  local state = states[buf] or {}
  states[buf] = state
  local modified = vim.bo[buf].modified
  local found = vim.uv.fs_stat(path)
  -- a file that never was is new
  if not found and state.base and not state.is_gone then
    state.gone_since = state.gone_since or vim.uv.now()
    if vim.uv.now() - state.gone_since < GONE_DELAY then
      return vim.defer_fn(function()
        M.below(root)
      end, GONE_DELAY)
    end
    require('backstitch.notice').say(
      ('backstitch: %s was deleted. :write brings its text back'):format(vim.fn.fnamemodify(path, ':t')),
      vim.log.levels.WARN
    )
  end
  state.is_gone, state.gone_since = not found, found and nil or state.gone_since
  if not modified and found and found.size == 0 and vim.fn.line2byte(vim.fn.line('$')) >= 0 then
    state.empty_since = state.empty_since or vim.uv.now()
    if vim.uv.now() - state.empty_since < EMPTY_DELAY then
      vim.defer_fn(function()
        M.below(root)
      end, EMPTY_DELAY)
      return
    end
  end
  state.empty_since = nil
  if not reload(buf, path) then
    if modified then
      require('backstitch.on_disk').catch_up(buf)
    else
      check(buf)
      state.known = nil
    end
  elseif (M.stat(path) or state.known) ~= state.known then
    -- written again meanwhile; later, since a program that writes without end must not stop the editor
    vim.defer_fn(function()
      M.below(root)
    end, DELAY)
  end
end

--- True if text may change now: not while the user types, selects, or answers a question.
local function is_quiet()
  local mode = vim.api.nvim_get_mode()
  return not mode.blocking
    and (mode.mode == 'n' or mode.mode == 'nt' or mode.mode == 't')
    and vim.fn.getcmdwintype() == ''
end

---@param root string
function M.below(root)
  if not is_quiet() then
    waiting[root] = true
    return
  end
  waiting[root] = nil
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and is_below(root, buf) then
      bring_up_to_date(buf, root)
    end
  end
end

function M.enable()
  ---@type table<string, uv.uv_timer_t>
  local debounce = {}
  local function changed(params)
    if not config.get().reload then
      return
    end
    local root = require('backstitch.words').shown(params.workspace)
    debounce[root] = debounce[root] or assert(vim.uv.new_timer())
    debounce[root]:start(
      DELAY,
      0,
      vim.schedule_wrap(function()
        M.below(root)
      end)
    )
  end
  for _, method in ipairs({ 'didCheckpoint', 'didRewind', 'timelineChanged' }) do
    server.on('backstitch/' .. method, changed)
  end
  local group = vim.api.nvim_create_augroup('backstitch.reload', {})
  vim.api.nvim_create_autocmd({ 'ModeChanged', 'CmdwinLeave' }, {
    group = group,
    callback = vim.schedule_wrap(function()
      if next(waiting) and is_quiet() then
        for _, root in ipairs(vim.tbl_keys(waiting)) do
          M.below(root)
        end
      end
    end),
  })
  local function remember(buf)
    states[buf] = {}
    local is_file = vim.bo[buf].buftype == '' and #vim.lsp.get_clients({ name = 'backstitch', bufnr = buf }) > 0
    if
      is_file
      and not vim.bo[buf].modified
      and vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) < MAX_BASE
    then
      states[buf].base = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
      states[buf].has_end = vim.bo[buf].endofline
    end
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'LspAttach' }, {
    group = group,
    callback = function(event)
      local state = states[event.buf]
      -- a server that is attached again knows no other file
      if event.event ~= 'LspAttach' or not state or not state.base then
        remember(event.buf)
      end
    end,
  })
  -- Neovim numbers a text that it reads again from 0 on, or as the one before: an edit of the server for that one would be
  -- applied to the new text. Its change tick only rises.
  vim.api.nvim_create_autocmd('BufReadPre', {
    group = group,
    callback = function(event)
      vim.lsp.util.buf_versions[event.buf] = vim.api.nvim_buf_get_changedtick(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      states[event.buf] = nil
    end,
  })
end

return M
