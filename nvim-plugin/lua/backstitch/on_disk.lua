--- Files that an agent changed or renamed while they are open: the user is told about conflicts with unsaved text, merges both
--- with `:Backstitch merge`, and a buffer follows its renamed file.
local notice = require('backstitch.notice')
local outside = require('backstitch.outside')
local reload = require('backstitch.reload')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Buffers with a conflict that the user knows about: it is said once until it is merged or saved.
---@type table<integer, true>
local told = {}
--- Buffers that the server is to merge soon; `conflict` where it has found one.
---@type table<integer, 'change'|'conflict'>
local queued = {}

---@param path string
local function short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

--- Time in which a reload merges by itself, in milliseconds.
local RELOAD = 150
--- Number of merges until one is given up that the server could not bring into the buffer.
local TRIES = 5

--- Ways to decide conflicts.
---@type { key: string, how: backstitch.OnConflict, label: string }[]
local WAYS = {
  { key = 'm', how = 'markers', label = 'write conflict markers' },
  { key = 'c', how = 'current', label = 'keep my lines' },
  { key = 'o', how = 'target', label = 'take the lines on disk' },
}

local catch_up

--- Lets the server merge.
---@async
---@param buf integer
---@param client vim.lsp.Client
---@param arguments backstitch.MergeParams
---@return backstitch.MergeResult
local function merge_once(buf, client, arguments)
  return reload.alone(buf, function()
    local before = reload.stat(vim.api.nvim_buf_get_name(buf))
    local base = reload.is_behind(buf) and reload.base(buf)
    if base then
      server.execute(client, 'backstitch.merge', { uri = arguments.uri, merged = base }, buf)
    end
    local result = server.execute(client, 'backstitch.merge', arguments, buf)
    local is_unsaved = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified
    if result.merged and is_unsaved and not reload.merged(buf, before) then
      catch_up(buf, 'change')
    end
    return result
  end)
end

--- Returns the differences between a buffer and its file, as a unified diff.
---@param buf integer
---@return backstitch.Chunk[][]
local function differences(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  local mine = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n'
  local file = io.open(path, 'rb')
  local disk = file and file:read('*a') or ''
  if file then
    file:close()
  end
  disk = vim.bo[buf].fileformat == 'dos' and disk:gsub('\r\n', '\n') or disk
  ---@diagnostic disable-next-line: deprecated
  local diff = vim.text and vim.text.diff or vim.diff
  local hunks = diff(mine, disk, { ctxlen = 2 }) --[[@as string]]
  local lines = { { { '--- your text' } }, { { '+++ on disk' } } }
  for _, line in ipairs(vim.split(vim.trim(hunks), '\n', { plain = true })) do
    table.insert(lines, { { line } })
  end
  return lines
end

--- Asks how conflicts are decided, with the differences in the question.
---@async
---@param buf integer
---@param question string
---@return backstitch.OnConflict
local function ask(buf, question)
  local how = task.await(function(back)
    local keys, labels = {}, {}
    for _, way in ipairs(WAYS) do
      keys[way.key] = function()
        back(way.how)
      end
      table.insert(labels, { way.key, way.label })
    end
    table.insert(labels, { 'q', 'decide later' })
    require('backstitch.float').open({
      title = words.line(question, vim.o.columns - 8),
      lines = differences(buf),
      keys = keys,
      filetype = 'diff',
      footer = require('backstitch.plan').footer(labels, vim.o.columns - 8),
    }, function()
      back(nil)
    end)
  end)
  if not how then
    error(task.CALLED_OFF, 0)
  end
  return how
end

--- Merges the file on disk into the unsaved text of a buffer. Asks about conflicts.
---@async
---@param buf integer
---@param is_quiet? boolean Reports nothing, and leaves conflicts to the user.
function M.merge(buf, is_quiet)
  if vim.bo[buf].buftype ~= '' or vim.api.nvim_buf_get_name(buf) == '' then
    task.fail({ message = 'This buffer is not a file' })
  end
  local client = server.client(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  local arguments = { uri = vim.uri_from_bufnr(buf) }
  local ok, result = pcall(merge_once, buf, client, arguments)
  if not ok then
    if is_quiet or type(result) ~= 'table' or result.kind ~= 'conflict' then
      error(result, 0)
    end
    arguments.onConflict = ask(buf, result.message)
    result = merge_once(buf, client, arguments)
  end
  if not result.merged and is_quiet then
    return
  elseif not result.merged then
    return notice.say(('backstitch: %s: nothing to merge'):format(short(path)))
  end
  told[buf] = nil
  if is_quiet then
    return
  end
  local conflicts = result.conflicts > 0 and ', ' .. words.count(result.conflicts, 'conflict') or ''
  notice.say(('backstitch: %s: merged%s; :write saves it'):format(short(path), conflicts))
  if arguments.onConflict == 'markers' and vim.api.nvim_get_current_buf() == buf then
    vim.fn.cursor(1, 1)
    vim.fn.search([[^<<<<<<< ]], 'cW')
  end
end

--- Gives a buffer the new name of its file, and reads it. Undo reaches the text before.
---@param buf integer
---@param path string
local function follow(buf, path)
  local window = vim.fn.win_findbuf(buf)[1]
  local is_shown = window ~= nil and not vim.wo[window].winfixbuf
  -- a name that another buffer has cannot be given
  if vim.fn.bufloaded(path) == 1 or not is_shown then
    return false
  end
  -- closed by its old name
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    vim.lsp.buf_detach_client(buf, client.id)
  end
  vim.api.nvim_win_call(window, function()
    local view, lines = vim.fn.winsaveview(), vim.o.undoreload
    vim.o.undoreload = -1
    local ok = pcall(outside.rename, short(path))
    ok = ok and pcall(vim.cmd, 'silent keepalt keepjumps edit!')
    vim.o.undoreload = lines
    if ok then
      vim.fn.winrestview(view)
    end
  end)
  return true
end

---@param buf integer
local function tell_conflict(buf)
  if not told[buf] then
    told[buf] = true
    local path = short(vim.api.nvim_buf_get_name(buf))
    notice.say(('backstitch: %s conflicts with your unsaved text. :Backstitch merge'):format(path), vim.log.levels.WARN)
  end
end

--- Merges a buffer soon, unless the reload has done it by then. Conflicts are reported.
---@param buf integer
---@param found 'change'|'conflict'
---@param tries? integer
function catch_up(buf, found, tries)
  if queued[buf] then
    queued[buf] = found == 'conflict' and found or queued[buf]
    return
  end
  queued[buf] = found
  local function merge()
    local is_conflict = queued[buf] == 'conflict'
    queued[buf] = nil
    local is_unsaved = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified
    -- the server may have compared the file with a text that the reload has merged since
    if not is_unsaved or not (is_conflict or reload.is_behind(buf)) then
      return
    end
    task.run(function()
      M.merge(buf, true)
    end, function(failure)
      local kind = type(failure) == 'table' and failure.kind
      if kind == 'conflict' then
        tell_conflict(buf)
      elseif (tries or TRIES) > 1 then
        catch_up(buf, found, (tries or TRIES) - 1)
      elseif vim.api.nvim_buf_is_loaded(buf) and reload.is_behind(buf) then
        tell_conflict(buf)
      end
    end)
  end
  vim.defer_fn(function()
    notice.after_typing(merge)
  end, RELOAD)
end

---@param params backstitch.ChangedOnDisk
local function changed(params)
  local path = vim.uri_to_fname(params.uri)
  local buf = outside.buffer(path)
  if not buf then
    return
  end
  local agent = words.given(params.agent) or 'An agent'
  local moved = words.given(params.renamedTo)
  if moved then
    local to = vim.uri_to_fname(moved)
    local said = ('backstitch: %s renamed %s to %s'):format(agent, short(path), short(to))
    if vim.bo[buf].modified then
      said = said .. '; your unsaved text stays here'
    else
      follow(buf, to)
    end
    return notice.say(said, vim.log.levels.WARN)
  end
  -- the server has the text of a buffer that is yet to be reloaded; Neovim knows if anything was typed
  if params.deleted or not params.unsaved or not vim.bo[buf].modified then
    return
  end
  catch_up(buf, params.conflicts > 0 and 'conflict' or 'change')
end

--- Lets the server merge a buffer soon, where a reload cannot: lines next to one another, or a base that only the server
--- knows. The server does not tell of a change below a text that is typed and not sent yet.
---@param buf integer
function M.catch_up(buf)
  catch_up(buf, 'change')
end

function M.enable()
  server.on('backstitch/changedOnDisk', function(params)
    notice.after_typing(function()
      changed(params)
    end)
  end)
  vim.api.nvim_create_autocmd({ 'BufWritePost', 'BufReadPost', 'BufUnload' }, {
    group = vim.api.nvim_create_augroup('backstitch.on_disk', {}),
    callback = function(event)
      told[event.buf] = nil
    end,
  })
end

return M
