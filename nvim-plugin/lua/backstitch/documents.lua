--- Documents of the server: files at a checkpoint, and its views of plans, diffs and timelines.
local outside = require('backstitch.outside')
local server = require('backstitch.server')

local M = {}

--- Time limit for reading a document, in milliseconds.
local READ_TIMEOUT = 2000
--- Texts of documents that are about to be opened.
---@type table<string, string>
local fetched = {}
--- URIs of documents, by the names of their buffers.
---@type table<string, string>
local uris = {}
--- Client ids of the servers that showed a document, by URI.
---@type table<string, integer>
local shown_by = {}

--- Splits the URI of a file into directory, path and state. Other documents have only a name, as path.
---@param uri string
---@return string? root, string? path, string? rev
local function parts(uri)
  local root, rev, path = uri:match('^backstitch://([^/]+)/([^/]+)/(.+)$')
  if not root or root == 'view' then
    local name = vim.uri_decode(uri:match('([^/]+)$') or '')
    return nil, (name:gsub('%.diff$', ''))
  end
  -- a host is case-insensitive: capitals are encoded once more
  return vim.uri_decode(vim.uri_decode(root)), vim.uri_decode(path), vim.uri_decode(rev)
end

--- The URI of a file at a checkpoint.
---@param root string
---@param rev string
---@param path string
---@return string
function M.uri(root, rev, path)
  local function encoded(text, keep)
    return (text:gsub('[^%w' .. keep .. ']', function(letter)
      return ('%%%02X'):format(letter:byte())
    end))
  end
  local host = root:gsub('[^%l%d%./_~-]', function(letter)
    return ('%%%02x'):format(letter:byte())
  end)
  return ('backstitch://%s/%s/%s'):format(encoded(host, '%._~-'), encoded(rev, '%._~-'), encoded(path, '%._~/-'))
end

--- Text for people by which a document is known.
---@param uri string
---@return string
local function label(uri)
  local _, path, rev = parts(uri)
  return rev and ('%s at %s'):format(path, rev) or path or ''
end

--- Returns the name of the buffer of a document. The label of a tab shortens directories, and encoded parts say little there.
---@param uri string
---@return string
local function name_of(uri)
  local name = 'backstitch://' .. outside.line(label(uri))
  local free, number = name, 1
  while uris[free] ~= uri and vim.fn.bufexists(free) == 1 do
    number = number + 1
    free = ('%s (%d)'):format(name, number)
  end
  uris[free] = uri
  return free
end

--- Returns the servers that are likely to have a document, or all.
---@param uri string
---@return vim.lsp.Client[]
local function owners(uri)
  local root = parts(uri)
  local likely, others = {}, {}
  for _, client in ipairs(vim.lsp.get_clients({ name = 'backstitch' })) do
    local is_likely = shown_by[uri] == client.id or (root and client.root_dir == root)
    table.insert(is_likely and likely or others, client)
  end
  return #likely > 0 and likely or others
end

--- Fills a buffer with the document that it is named after. The buffer is read-only.
---@param buf integer
---@param name string Name of the buffer, or a URI.
function M.read(buf, name)
  local uri = uris[name] or name
  local failed = 'no server has it: open a file of its workspace first'
  local text = fetched[uri]
  fetched[uri] = nil
  for _, client in ipairs(text and {} or owners(uri)) do
    local answer, wrong = server.request_now(client, 'backstitch/content', { uri = uri }, READ_TIMEOUT)
    if answer then
      text = answer.text
      break
    end
    failed = wrong or failed
  end
  local root, path = parts(uri)
  vim.bo[buf].buftype = 'nofile'
  -- a view is created anew each time it is opened
  vim.bo[buf].bufhidden = root and 'hide' or 'wipe'
  vim.bo[buf].swapfile = false
  -- an old text sets no options: nobody has opened that file
  vim.bo[buf].modeline = false
  vim.bo[buf].modifiable = true
  if text then
    local lines = vim.split(text, '\n', { plain = true })
    local has_end = #lines > 1 and lines[#lines] == ''
    if has_end then
      table.remove(lines)
    end
    -- the same rules as for reading a file
    local is_dos = has_end or #lines > 1
    for i = 1, has_end and #lines or #lines - 1 do
      is_dos = is_dos and vim.endswith(lines[i] or '', '\r')
    end
    if is_dos then
      lines = vim.tbl_map(function(line)
        return (line:gsub('\r$', ''))
      end, lines)
    end
    vim.bo[buf].fileformat = is_dos and 'dos' or 'unix'
    local first, marks = (lines[1] or ''):gsub('^\239\187\191', '')
    lines[1], vim.bo[buf].bomb = first, marks > 0
    vim.bo[buf].endofline = has_end
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.b[buf].backstitch_root = root
    local filetype = path and vim.filetype.match({ filename = path, buf = buf })
    if filetype then
      vim.bo[buf].filetype = filetype
    end
  else
    require('backstitch.notice').say(('backstitch: %s: %s'):format(uri, failed), vim.log.levels.ERROR)
  end
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Returns the place of a line of a unified diff: its file, and the line there.
---@param lines string[]
---@param row integer
---@return string? path, integer? line
function M.place(lines, row)
  local path, at ---@type string?, integer?
  for i = 1, math.min(row, #lines) do
    local line = lines[i] or ''
    local name = line:match('^%+%+%+ (.*)$')
    local start = line:match('^@@ %-[%d,]+ %+(%d+)')
    if name and vim.startswith(lines[i - 1] or '', '--- ') then
      name = name:gsub('\t.*$', '')
      path, at = name ~= '/dev/null' and name:gsub('^b/', '') or nil, nil
    elseif start then
      at = vim.fn.str2nr(start) - 1
    elseif at and not line:match('^[-\\]') then
      at = at + 1
    end
  end
  -- above the first hunk of a file: the first line of it
  for i = row + 1, at and 0 or #lines do
    local start = (lines[i] or ''):match('^@@ %-[%d,]+ %+(%d+)')
    if start then
      at = vim.fn.str2nr(start)
      break
    end
  end
  return path, at and math.max(at, 1)
end

--- Opens the file of the line under the cursor, in the window that the document was opened from if it is there.
---@param from integer
---@param root string
local function go_to_file(from, root)
  local lines, row = vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.api.nvim_win_get_cursor(0)[1]
  local path, line = M.place(lines, row)
  local file = path and vim.fs.joinpath(root, path)
  if not file or not vim.uv.fs_stat(file) then
    return require('backstitch.notice').say('backstitch: no file of the workspace is on this line')
  end
  if vim.api.nvim_win_is_valid(from) and not vim.wo[from].winfixbuf then
    vim.api.nvim_set_current_win(from)
  else
    vim.cmd('topleft new')
  end
  outside.edit(file)
  vim.api.nvim_win_set_cursor(0, { math.min(line or 1, vim.api.nvim_buf_line_count(0)), 0 })
end

--- Shows a document in a split; `q` closes it, and `<CR>` opens the file of a line of a diff.
---@param uri string
---@param client_id? integer
function M.show(uri, client_id)
  shown_by[uri] = client_id
  local buf = vim.fn.bufadd(name_of(uri))
  vim.fn.bufload(buf)
  vim.bo[buf].buflisted = false
  local from = vim.api.nvim_get_current_win()
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buf)
  vim.keymap.set('n', 'q', function()
    require('backstitch.float').leave()
    if vim.api.nvim_win_is_valid(from) then
      vim.api.nvim_set_current_win(from)
    end
  end, { buffer = buf, nowait = true, desc = 'Close' })
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if not parts(uri) and client and client.root_dir then
    vim.keymap.set('n', '<CR>', function()
      go_to_file(from, client.root_dir)
    end, { buffer = buf, desc = 'Open the file at this line' })
  end
end

--- Fetches a file at a checkpoint before its buffer is opened, so that opening does not block.
---@async
---@param client vim.lsp.Client
---@param root string
---@param rev string
---@param path string
---@return string name Name of its buffer.
function M.fetch(client, root, rev, path)
  local uri = M.uri(root, rev, path)
  fetched[uri] = server.request(client, 'backstitch/content', { uri = uri }).text
  return name_of(uri)
end

function M.enable()
  local group = vim.api.nvim_create_augroup('backstitch.documents', {})
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = group,
    pattern = 'backstitch://*',
    callback = function(event)
      M.read(event.buf, event.match)
    end,
  })
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    pattern = 'backstitch://*',
    callback = function(event)
      local name = label(uris[event.match] or event.match)
      outside.name_window(0, name)
    end,
  })
end

return M
