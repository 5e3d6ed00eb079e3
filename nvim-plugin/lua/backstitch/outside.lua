--- Texts from outside: names of files, prompts, branches, texts of agents and programs. The one place that hands them to commands
--- and to lines which Neovim interprets. `server/docs/outside_text.md` lists the texts and the places.
local M = {}

local REPLACED = '\u{fffd}'

--- Characters that a reader does not see, or that make a text look like another one: marks of direction, separators of lines,
--- characters without a width. The list of `server/frontend/src/terminal/safe_text.rs`, without control characters.
---@type [integer, integer][]
local DECEIVE = {
  { 0x80, 0x9f },
  { 0xad, 0xad },
  { 0x34f, 0x34f },
  { 0x61c, 0x61c },
  { 0x115f, 0x1160 },
  { 0x17b4, 0x17b5 },
  { 0x180b, 0x180e },
  { 0x200b, 0x200b },
  { 0x200e, 0x200f },
  { 0x2028, 0x202e },
  { 0x2060, 0x206f },
  { 0x3164, 0x3164 },
  { 0xfeff, 0xfeff },
  { 0xffa0, 0xffa0 },
  { 0xfff9, 0xfffb },
  { 0xe0001, 0xe0001 },
}

---@param letter string
local function checked(letter)
  local code = vim.fn.char2nr(letter, true)
  for _, range in ipairs(DECEIVE) do
    if code >= range[1] and code <= range[2] then
      return REPLACED
    end
  end
end

--- Returns a text with `\u{fffd}` in place of control characters and of others that deceive. Blanks and line ends stay.
---@param text string
---@return string
function M.visible(text)
  if not text:find('[^\9\10\32-\126]') then
    return text
  end
  text = text:gsub('[%z\1-\8\11-\31\127]', REPLACED)
  -- a joiner between letters of other alphabets belongs to them, as one between emoji does
  text = text:gsub('()\226\128[\140\141]()', function(from, behind)
    local before, after = text:byte(from - 1) or 0, text:byte(behind) or 0
    return (before < 128 or after < 128) and REPLACED or nil
  end)
  return (text:gsub('[\194-\244][\128-\191]+', checked))
end

--- Returns a text as one line of a buffer, a title or a message.
---@param text string
---@return string
function M.line(text)
  return (M.visible(text):gsub('\n', REPLACED))
end

--- Returns a text for 'statusline', 'winbar' and 'tabline', in which `%` begins an item that may be code.
---@param text string
---@return string
function M.status(text)
  return (M.line(text):gsub('%%', '%%%%'))
end

--- Names a window in its status line, where Neovim would show the name of its buffer.
---@param window integer
---@param name string
function M.name_window(window, name)
  vim.wo[window][0].statusline = ' ' .. M.status(name) .. ' %{&modifiable && &modified ? "[+]" : ""}%=%l,%c %P '
end

--- Returns a text for a status line of the user's, which may interpret it once, twice or not: it has no `%`.
---@param text string
---@return string
function M.status_part(text)
  return (M.line(text):gsub('%%', '％'))
end

--- Returns the loaded buffer of a file. A name is not a pattern here.
---@param path string
---@return integer?
function M.buffer(path)
  local real = vim.uv.fs_realpath(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) or ''
    if name ~= '' and (name == path or real and vim.uv.fs_realpath(name) == real) then
      return buf
    end
  end
end

--- Returns a typed path with `%` and `#` expanded as in Neovim. Any other name that begins with them is a name: it could have a
--- command of the shell in it.
---@param path string
---@return string
function M.expanded(path)
  if path:match('^[%%#]%d*[:phtre~.]*$') then
    return vim.fn.expand(path) --[[@as string]]
  end
  return path
end

--- Gives the current buffer another name. Nothing in the name is expanded or run.
---@param path string
function M.rename(path)
  vim.cmd.file({ args = { path }, magic = { file = false, bar = false }, mods = { silent = true, keepalt = true } })
end

--- Shows a file or a document in the current window. Nothing in its name is expanded or run.
---@param name string
function M.edit(name)
  local buf = vim.fn.bufadd(name)
  vim.bo[buf].buflisted = true
  vim.cmd.buffer(buf)
end

--- Shows a document beside the current window, compared with it.
---@param name string
function M.diffsplit(name)
  vim.cmd.diffsplit({
    args = { name },
    magic = { file = false, bar = false },
    mods = { split = 'leftabove', vertical = true },
  })
end

--- Returns the files and directories whose names begin with a typed path, as `:Backstitch` takes them. The names are compared,
--- and no pattern is expanded.
---@param typed string With a backslash before special characters.
---@return string[]
function M.complete_file(typed)
  local path = typed:gsub('\\(.)', '%1')
  local dir, start = path:match('^(.*/)([^/]*)$')
  dir, start = dir or '', start or path
  local place = dir:gsub('^~/', function()
    return (vim.uv.os_homedir() or '~') .. '/'
  end)
  local found = {}
  for name, kind in vim.fs.dir(place == '' and '.' or place) do
    if vim.startswith(name, start) and (start ~= '' or not vim.startswith(name, '.')) then
      local is_dir = kind == 'directory' or kind == 'link' and vim.fn.isdirectory(place .. name) == 1
      table.insert(found, vim.fn.fnameescape(dir .. name .. (is_dir and '/' or '')))
    end
  end
  table.sort(found)
  return found
end

--- Runs a program in the terminal of the current window. Its arguments are a list, which no shell reads.
---@param line string[]
---@param dir string
function M.terminal(line, dir)
  vim.fn.jobstart(line, { term = true, cwd = dir })
end

return M
