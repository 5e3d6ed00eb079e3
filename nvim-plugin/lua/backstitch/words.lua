--- Texts for checkpoints, changes and plans. Pure; the clock is a parameter.
local outside = require('backstitch.outside')

local M = {}

--- Returns a JSON value, with null as nil.
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

M.visible = outside.visible

--- Returns a text without the blanks that all of its lines begin with.
---@param text string
---@return string
function M.dedent(text)
  local lines, indent = vim.split(text, '\n', { plain = true }), nil
  for _, line in ipairs(lines) do
    local own = line:match('^(%s*)%S')
    if own and (not indent or #own < #indent) then
      indent = own
    end
  end
  for i, line in ipairs(lines) do
    lines[i] = vim.startswith(line, indent or '') and line:sub(#(indent or '') + 1) or line
  end
  return table.concat(lines, '\n')
end

--- Returns text as one line without characters that deceive, for lists.
---@param text string
---@param longest? integer Cells.
---@return string
function M.line(text, longest)
  local limit = longest or 72
  local plain = outside.line(vim.trim((text:gsub('[%c%s]+', ' '))))
  if vim.fn.strdisplaywidth(plain) <= limit then
    return plain
  end
  local short = vim.fn.strcharpart(plain, 0, limit - 1)
  while vim.fn.strdisplaywidth(short) > limit - 1 do
    short = vim.fn.strcharpart(short, 0, vim.fn.strchars(short) - 1)
  end
  return vim.trim(short) .. '…'
end

--- Joins the parts of a row that are not empty. Pure.
---@param parts string[]
---@return string
function M.dotted(parts)
  local filled = vim.tbl_filter(function(part)
    return part ~= ''
  end, parts)
  return table.concat(filled, ' · ')
end

--- Returns a text as lines of whole words. A word that is longer than a line is a line. Pure.
---@param text string
---@param columns integer
---@return string[]
function M.wrapped(text, columns)
  local lines = {}
  for word in text:gmatch('%S+') do
    local last = lines[#lines]
    local joined = last and last .. ' ' .. word
    if joined and vim.fn.strdisplaywidth(joined) <= columns then
      lines[#lines] = joined
    else
      table.insert(lines, word)
    end
  end
  return lines
end

--- Returns seconds since 1970 of an RFC 3339 time in UTC.
---@param time string
---@return integer
local function seconds(time)
  local year, month, day, hour, min, sec = time:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return 0
  end
  -- read as local time without daylight saving time, then corrected by the offset from UTC
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
  -- one day later: some systems have no times before 1970
  utc.day = 2
  return os.time(parts) + 86400 - os.time(utc)
end

--- `2026-11-25 14:03`, in the user's time zone; without the day if that is the given one.
---@param time string
---@param day? string
---@return string
function M.clock(time, day)
  local shown = os.date('%Y-%m-%d %H:%M', seconds(time)) --[[@as string]]
  return shown:sub(1, 10) == day and shown:sub(12) or shown
end

--- `2 min ago`; the date after more than a week.
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

--- The same for narrow columns: `now`, `2m`, `3h`, `5d`, then the date.
---@param time string?
---@param now integer seconds since 1970
---@return string
function M.age(time, now)
  time = M.given(time)
  if not time then
    return ''
  end
  local since = math.max(0, now - seconds(time))
  if since < 60 then
    return 'now'
  elseif since < 3600 then
    return ('%dm'):format(since / 60)
  elseif since < 86400 then
    return ('%dh'):format(since / 3600)
  elseif since < 7 * 86400 then
    return ('%dd'):format(since / 86400)
  end
  return time:sub(6, 10)
end

---@param count integer
---@param one string
---@param many? string
function M.count(count, one, many)
  return ('%d %s'):format(count, count == 1 and one or many or one .. 's')
end

--- `src/a.rs`, or `3 files`; empty without changes.
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

--- `+12 −3`; empty if no line was counted.
---@param changes { added: integer, removed: integer }[]
---@return string
function M.counts(changes)
  local added, removed = 0, 0
  for _, change in ipairs(changes) do
    added, removed = added + change.added, removed + change.removed
  end
  return added + removed == 0 and '' or ('+%d −%d'):format(added, removed)
end

--- Returns the title of a checkpoint.
---@param checkpoint backstitch.Checkpoint
---@return string
function M.about(checkpoint)
  local label, prompt = M.given(checkpoint.label), M.given(checkpoint.prompt)
  local operation = M.given(checkpoint.operation)
  if operation and M.given(operation.title) then
    return M.line(operation.title)
  end
  if label and label ~= '' then
    return M.line(label)
  end
  local kind = checkpoint.kind
  if kind == 'turn' then
    local said = M.line(prompt or '')
    return said ~= '' and ('“%s”'):format(said) or 'turn without a prompt'
  elseif kind == 'step' then
    local about = M.given(checkpoint.summary) or M.files(checkpoint.changes)
    local tool = M.given(checkpoint.tool) or 'step'
    return about == '' and tool or ('%s %s'):format(tool, M.line(about))
  elseif kind == 'rewind' then
    return 'rewind'
  end
  if checkpoint.squashed then
    return ('%d checkpoints, squashed'):format(checkpoint.squashed.checkpoints)
  end
  return ({ external = 'your edits', manual = 'checkpoint', squash = 'older checkpoints', import = 'imported' })[kind]
    or kind
end

--- Returns the name of a checkpoint in commands; a turn has its own.
---@param checkpoint backstitch.Checkpoint
---@return string
function M.rev(checkpoint)
  return checkpoint.kind == 'turn' and M.given(checkpoint.turn) or checkpoint.id
end

--- Number of colours for sessions.
M.COLOURS = 6

--- Returns the highlight of a session by its letter: A, B … Z, AA …
---@param letter string
---@return string
function M.session_group(letter)
  local index = 0
  for i = 1, #letter do
    index = index * 26 + letter:byte(i) - 64
  end
  return ('BackstitchSession%d'):format((index - 1) % M.COLOURS + 1)
end

local LETTERS = { create = 'A', delete = 'D', rename = 'R', mode = 'T' }
--- The letter of a change, as in git.
---@param change { kind: backstitch.ChangeKind }
---@return string
function M.letter(change)
  return LETTERS[change.kind] or 'M'
end

---@param change { kind: backstitch.ChangeKind }
---@return string
function M.letter_group(change)
  return ({ create = 'BackstitchSignAdded', delete = 'BackstitchSignRemoved' })[change.kind] or 'BackstitchSignChanged'
end

--- Returns the effect of a plan on a file.
---@param action backstitch.Action
---@return string
function M.action(action)
  if action.action == 'create' and action.from then
    return 'renamed from ' .. M.shown(action.from)
  end
  return ({
    write = 'restored',
    delete = 'deleted',
    create = 'recreated',
    merge = 'merged with your edits',
    chmod = 'permissions restored',
    skip = 'unchanged',
  })[action.action] or action.action
end

---@param gap backstitch.Gap
---@return string
function M.gap(gap)
  local path = M.given(gap.path)
  return path and ('%s: %s'):format(M.shown(path), gap.detail) or gap.detail
end

--- Returns the number of conflicts; a conflict about a whole file is one.
---@param conflicts backstitch.Conflict[]
---@return integer
function M.conflict_count(conflicts)
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

--- `3 files, 1 of them merged · 2 conflicts · 1 not restored`.
---@param plan backstitch.AnyPlan
---@return string
function M.summary(plan)
  local done = M.done(plan)
  local merged = #vim.tbl_filter(function(action)
    return action.action == 'merge'
  end, done)
  local parts = { M.count(#done, 'file') .. (merged > 0 and (', %d of them merged'):format(merged) or '') }
  local conflicts = M.conflict_count(plan.conflicts)
  if conflicts > 0 then
    table.insert(parts, M.count(conflicts, 'conflict'))
  end
  if #plan.gaps > 0 then
    table.insert(parts, ('%d not restored'):format(#plan.gaps))
  end
  return table.concat(parts, ' · ')
end

--- The front end in which a person acted: `a terminal`, `VS Code`.
---@param by string
---@return string
function M.place(by)
  return by == 'cli' and 'a terminal' or M.line(by)
end

--- The place, or the rule, by which a held call was decided.
---@param by string
---@return string
function M.decider(by)
  return ({ ['time limit'] = 'since the time ran out', ['nobody watches'] = 'since nobody watched' })[by]
    or 'in ' .. M.place(by)
end

--- The breakpoint that paused a call, as it was then; else the reason of the pause. May be empty.
---@param session backstitch.ReplSession
---@return string
function M.pause_reason(session)
  local breakpoint, hit = M.given(session.breakpoint), M.given(session.hit)
  local parts = { breakpoint or '', M.given(session.why) or '' }
  if hit then
    local when, hits = M.given(hit.when), M.given(hit.hits)
    parts = { breakpoint or '', hit.kind, hit.summary, when and 'when ' .. when or '', hits and 'hits ' .. hits or '' }
  end
  return M.line(vim.trim(table.concat(parts, ' ')))
end

---@param text string
function M.sentence(text)
  return text:sub(1, 1):upper() .. text:sub(2)
end

return M
