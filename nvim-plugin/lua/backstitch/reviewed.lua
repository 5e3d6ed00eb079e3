--- Reviewed changes that the user keeps. They are not marked until they change again. A file stores them.
local words = require('backstitch.words')

local M = {}

--- Maximum number of files with stored changes; the oldest are dropped first.
local MAX_FILES = 500

---@class backstitch.Compared File and checkpoint of a comparison.
---@field root string
---@field id string The checkpoint.
---@field time string Distinguishes checkpoints with the same id after a history was cleared.
---@field path string

---@return string
local function store_path()
  return vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'backstitch', 'kept.json')
end

---@param compared backstitch.Compared
---@return string
local function name(compared)
  return table.concat({ compared.root, compared.id, compared.time, compared.path }, '\n')
end

--- Key of a change: its position in the older text, which never moves, and both texts.
---@param hunk backstitch.Hunk
---@return string
function M.key(hunk)
  local parts = { hunk.old[1], hunk.old[2] }
  for _, side in ipairs({ hunk.removed, hunk.added }) do
    table.insert(parts, #side)
    vim.list_extend(parts, vim.tbl_map(words.shown, side))
  end
  return vim.fn.sha256(table.concat(parts, '\n'))
end

---@return table<string, { time: integer, keys: string[] }>
local function read()
  local file = io.open(store_path(), 'r')
  if not file then
    return {}
  end
  local text = file:read('*a')
  file:close()
  local ok, all = pcall(vim.json.decode, text)
  local valid = {}
  for key, entry in pairs(ok and type(all) == 'table' and all or {}) do
    if type(entry) == 'table' and type(entry.time) == 'number' and type(entry.keys) == 'table' then
      valid[key] = entry
    end
  end
  return valid
end

---@param compared backstitch.Compared
---@return table<string, true>
function M.of(compared)
  local keys = {}
  for _, key in ipairs((read()[name(compared)] or {}).keys or {}) do
    keys[key] = true
  end
  return keys
end

--- Stores changes beside those of other instances. Without `hunks` it forgets all changes of the file.
---@param compared backstitch.Compared
---@param hunks? backstitch.Hunk[]
function M.remember(compared, hunks)
  local all = read()
  local keys = hunks and M.of(compared) or {}
  for _, hunk in ipairs(hunks or {}) do
    keys[M.key(hunk)] = true
  end
  all[name(compared)] = hunks and { time = os.time(), keys = vim.tbl_keys(keys) } or nil
  local names = vim.tbl_keys(all)
  table.sort(names, function(one, other)
    return all[one].time > all[other].time
  end)
  for i = MAX_FILES + 1, #names do
    all[names[i]] = nil
  end
  local path = store_path()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local temporary = ('%s.%d'):format(path, vim.uv.os_getpid())
  local file, why = io.open(temporary, 'w')
  local is_written = file and file:write(vim.json.encode(next(all) and all or vim.empty_dict()))
  -- a full disk may fail only the close; the old file stays then
  local is_whole = file and file:close() and is_written
  if not is_whole or not vim.uv.fs_rename(temporary, path) then
    os.remove(temporary)
    vim.notify(('backstitch: cannot store kept changes: %s'):format(why or path), vim.log.levels.WARN)
  end
end

return M
