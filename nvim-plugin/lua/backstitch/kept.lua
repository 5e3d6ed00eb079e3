--- Which changes were looked at and are kept: they are marked no more until they change again. A file remembers them.
local words = require('backstitch.words')

local M = {}

--- Of how many files they are remembered; the oldest go first.
local MOST = 500

---@class backstitch.Compared What a file is compared with.
---@field root string
---@field id string The checkpoint.
---@field time string Where a history was cleared, another checkpoint may have its id by now.
---@field path string

---@return string
local function place()
  return vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'backstitch', 'kept.json')
end

---@param of backstitch.Compared
---@return string
local function name(of)
  return table.concat({ of.root, of.id, of.time, of.path }, '\n')
end

--- A change by all that it is; the older side stays where it is, whatever else changes.
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
  local file = io.open(place(), 'r')
  if not file then
    return {}
  end
  local text = file:read('*a')
  file:close()
  local ok, all = pcall(vim.json.decode, text)
  local sound = {}
  for of, entry in pairs(ok and type(all) == 'table' and all or {}) do
    if type(entry) == 'table' and type(entry.time) == 'number' and type(entry.keys) == 'table' then
      sound[of] = entry
    end
  end
  return sound
end

---@param of backstitch.Compared
---@return table<string, true>
function M.of(of)
  local keys = {}
  for _, key in ipairs((read()[name(of)] or {}).keys or {}) do
    keys[key] = true
  end
  return keys
end

--- Remembers these beside what other instances remember; none: forgets all of the file.
---@param of backstitch.Compared
---@param hunks? backstitch.Hunk[]
function M.remember(of, hunks)
  local all = read()
  local keys = hunks and M.of(of) or {}
  for _, hunk in ipairs(hunks or {}) do
    keys[M.key(hunk)] = true
  end
  all[name(of)] = hunks and { time = os.time(), keys = vim.tbl_keys(keys) } or nil
  local names = vim.tbl_keys(all)
  table.sort(names, function(one, other)
    return all[one].time > all[other].time
  end)
  for i = MOST + 1, #names do
    all[names[i]] = nil
  end
  local path = place()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local beside = ('%s.%d'):format(path, vim.uv.os_getpid())
  local file, why = io.open(beside, 'w')
  local is_written = file and file:write(vim.json.encode(next(all) and all or vim.empty_dict()))
  -- a full disk may show only when the file is closed; what was remembered before stays then
  local is_whole = file and file:close() and is_written
  if not is_whole or not vim.uv.fs_rename(beside, path) then
    os.remove(beside)
    vim.notify(('backstitch: what is kept cannot be remembered: %s'):format(why or path), vim.log.levels.WARN)
  end
end

return M
