--- What checkpoints, changes and plans are called. Pure, but for the clock that is passed in.
local M = {}

--- A value of JSON, where null is nil.
---@generic T
---@param value T
---@return T?
function M.given(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

--- A path or a line as a string.
---@param text backstitch.Text
---@return string
function M.shown(text)
  return type(text) == 'table' and vim.base64.decode(text.bytes) or text --[[@as string]]
end

--- One line, of what may have more: control characters have no place in a list.
---@param text string
---@param longest? integer Cells.
---@return string
function M.line(text, longest)
  local most = longest or 72
  local plain = vim.trim((text:gsub('[%c%s]+', ' ')))
  if vim.fn.strdisplaywidth(plain) <= most then
    return plain
  end
  local short = vim.fn.strcharpart(plain, 0, most - 1)
  while vim.fn.strdisplaywidth(short) > most - 1 do
    short = vim.fn.strcharpart(short, 0, vim.fn.strchars(short) - 1)
  end
  return vim.trim(short) .. '…'
end

--- Seconds since 1970 of a time in RFC 3339, UTC.
---@param time string
---@return integer
local function seconds(time)
  local year, month, day, hour, min, sec = time:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return 0
  end
  -- read as if it were local time without summer time, then moved by how far that is from UTC
  local parts = {
    year = tonumber(year) --[[@as integer]],
    month = tonumber(month) --[[@as integer]],
    day = tonumber(day) --[[@as integer]],
    hour = tonumber(hour) --[[@as integer]],
    min = tonumber(min) --[[@as integer]],
    sec = tonumber(sec) --[[@as integer]],
    isdst = false,
  }
  local utc = os.date('!*t', 0) --[[@as std.osdateparam]]
  utc.isdst = false
  -- a day later, not before 1970, where some systems have no times
  utc.day = 2
  return os.time(parts) + 86400 - os.time(utc)
end

--- `2 min ago`; the date where it is longer ago than a week.
---@param time string?
---@param now integer seconds since 1970
---@return string
function M.ago(time, now)
  time = M.given(time)
  if not time then
    return ''
  end
  local since = math.max(0, now - seconds(time))
  if since < 60 then
    return 'just now'
  elseif since < 3600 then
    return ('%d min ago'):format(since / 60)
  elseif since < 86400 then
    return ('%d h ago'):format(since / 3600)
  elseif since < 2 * 86400 then
    return 'yesterday'
  elseif since < 7 * 86400 then
    return ('%d days ago'):format(since / 86400)
  end
  return time:sub(1, 10)
end

---@param count integer
---@param one string
---@param many? string
function M.count(count, one, many)
  return ('%d %s'):format(count, count == 1 and one or many or one .. 's')
end

--- `src/a.rs`, or `3 files`; empty where there is none.
---@param changes backstitch.Change[]
---@return string
function M.files(changes)
  local seen, first, count = {}, '', 0
  for _, change in ipairs(changes) do
    local path = M.shown(change.path)
    if not seen[path] then
      seen[path], count = true, count + 1
      first = count == 1 and path or first
    end
  end
  return count <= 1 and first or M.count(count, 'file')
end

--- `+12 −3`; empty where no line was counted.
---@param changes { added: integer, removed: integer }[]
---@return string
function M.counts(changes)
  local added, removed = 0, 0
  for _, change in ipairs(changes) do
    added, removed = added + change.added, removed + change.removed
  end
  return added + removed == 0 and '' or ('+%d −%d'):format(added, removed)
end

--- What a checkpoint is about.
---@param checkpoint backstitch.Checkpoint
---@return string
function M.about(checkpoint)
  local label, prompt = M.given(checkpoint.label), M.given(checkpoint.prompt)
  if label and label ~= '' then
    return M.line(label)
  end
  local kind = checkpoint.kind
  if kind == 'turn' then
    local said = M.line(prompt or '')
    return said ~= '' and ('“%s”'):format(said) or 'turn without a prompt'
  elseif kind == 'step' then
    local files = M.files(checkpoint.changes)
    local tool = M.given(checkpoint.tool) or 'step'
    return files == '' and tool or tool .. ' ' .. files
  elseif kind == 'rewind' then
    local operation = M.given(checkpoint.operation)
    return operation and ('%s %s'):format(operation.kind, M.line(operation.target)) or 'rewind'
  end
  if checkpoint.squashed then
    return ('%d checkpoints, made one'):format(checkpoint.squashed.checkpoints)
  end
  return ({ external = 'your edits', manual = 'checkpoint', squash = 'older checkpoints', import = 'imported' })[kind]
    or kind
end

--- What stands for a checkpoint wherever one is named: a turn by its own name.
---@param checkpoint backstitch.Checkpoint
---@return string
function M.rev(checkpoint)
  return checkpoint.kind == 'turn' and M.given(checkpoint.turn) or checkpoint.id
end

--- The state to go back to where somebody points at a checkpoint: before what an agent did in it; that of any other, as
--- it is.
---@param checkpoint backstitch.Checkpoint
---@return string
function M.before(checkpoint)
  return checkpoint.kind == 'step' and checkpoint.id .. '^' or M.rev(checkpoint)
end

local KINDS = { create = 'created', delete = 'deleted', rename = 'renamed', mode = 'mode changed' }
--- Empty for what is most: modified.
---@param change { kind: backstitch.ChangeKind }
---@return string
function M.kind(change)
  return KINDS[change.kind] or ''
end

--- What a plan does to a file.
---@param action backstitch.Action
---@return string
function M.action(action)
  if action.action == 'create' and action.from then
    return 'moves back from ' .. M.shown(action.from)
  end
  return ({
    write = 'is put back',
    delete = 'is deleted',
    create = 'is created again',
    merge = 'is merged with what came later',
    chmod = 'gets its mode back',
    skip = 'stays as it is',
  })[action.action] or action.action
end

---@param gap backstitch.Gap
---@return string
function M.gap(gap)
  local path = M.given(gap.path)
  return path and ('%s: %s'):format(M.shown(path), gap.detail) or gap.detail
end

--- How many places collide; a file that collides as a whole is one.
---@param conflicts backstitch.Conflict[]
---@return integer
function M.collisions(conflicts)
  local sum = 0
  for _, conflict in ipairs(conflicts) do
    sum = sum + math.max(1, #conflict.hunks)
  end
  return sum
end

---@alias backstitch.AnyPlan backstitch.Plan|backstitch.PlanResult|backstitch.Applied

---@param plan backstitch.AnyPlan
---@return backstitch.Action[]
function M.done(plan)
  return vim.tbl_filter(function(action)
    return action.action ~= 'skip'
  end, plan.actions)
end

--- `3 files, 1 of them merged, 2 conflicts, 1 gap`.
---@param plan backstitch.AnyPlan
---@return string
function M.summary(plan)
  local done = M.done(plan)
  local merged = #vim.tbl_filter(function(action)
    return action.action == 'merge'
  end, done)
  local parts = { M.count(#done, 'file') }
  if merged > 0 then
    table.insert(parts, ('%d of them merged'):format(merged))
  end
  local collisions = M.collisions(plan.conflicts)
  if collisions > 0 then
    table.insert(parts, M.count(collisions, 'conflict'))
  end
  if #plan.gaps > 0 then
    table.insert(parts, M.count(#plan.gaps, 'gap'))
  end
  return table.concat(parts, ', ')
end

---@param text string
function M.sentence(text)
  return text:sub(1, 1):upper() .. text:sub(2)
end

return M
