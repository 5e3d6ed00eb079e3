--- Commands that change files: rewind, revert, undo, redo, switch. Each shows its plan first, and then its result.
local plan = require('backstitch.plan')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@alias backstitch.Verb 'rewind'|'revert'|'undo'|'redo'|'switch'

local DID = { rewind = 'Rewound', revert = 'Reverted', undo = 'Undone', redo = 'Redone', switch = 'Switched' }

--- Returns the parameters for the dry run of a command.
---@param verb backstitch.Verb
---@param arguments table
---@return backstitch.PlanParams
local function dry(verb, arguments)
  local asked = vim.tbl_extend('force', arguments, { texts = true })
  asked.plan, asked.confirm = nil, nil
  if verb == 'undo' and not asked.op then
    asked.undo = true
  elseif verb == 'redo' then
    asked.redo = true
  end
  return asked
end

--- Returns the alternatives to a plan.
---@param verb backstitch.Verb
---@param arguments table
---@param planned backstitch.PlanResult
---@return backstitch.Way[]
local function ways(verb, arguments, planned)
  local all = {}
  if verb == 'rewind' and not planned.exact then
    table.insert(all, {
      key = 'e',
      label = 'restore everything: also discards your own edits',
      short = 'everything',
      instead = { exact = true },
    })
  elseif verb == 'rewind' then
    table.insert(
      all,
      { key = 'e', label = 'leave your own edits in place', short = 'keep your edits', instead = { exact = false } }
    )
  end
  if verb == 'rewind' and #planned.takes > 0 then
    local both = arguments.scope == 'both'
    table.insert(all, {
      key = 'c',
      label = both and 'leave the conversation as it is' or "rewind the agent's conversation, too",
      short = both and 'files alone' or 'conversation',
      instead = { scope = both and 'code' or 'both' },
    })
  end
  if verb == 'rewind' and planned.other_sessions and not arguments.session then
    local instead = { allSessions = true }
    local label = "undo the other sessions' later work, too"
    table.insert(all, { key = 'a', label = label, short = 'all sessions', instead = instead })
  end
  local is_uncertain = false
  for _, gap in ipairs(planned.gaps) do
    is_uncertain = is_uncertain or gap.kind == 'uncertain'
  end
  if is_uncertain and arguments.uncertain ~= 'take' then
    table.insert(all, {
      key = 'u',
      label = 'include changes whose author is uncertain',
      short = 'uncertain',
      instead = { uncertain = 'take' },
    })
  end
  if verb == 'switch' and not arguments.carry and #(planned.uncarried or {}) > 0 then
    table.insert(all, { key = 'y', label = 'take your own edits along', short = 'carry', instead = { carry = true } })
  end
  return all
end

--- True if two plans that were asked for in the same way say the same. The fingerprint is silent about open conflicts.
---@param one backstitch.Plan
---@param other backstitch.Plan
local function is_same(one, other)
  return vim.deep_equal({ one.plan, one.conflicts, one.gaps }, { other.plan, other.conflicts, other.gaps })
end

local CONFLICTS = 'Backstitch: conflicts'

--- Lists conflict markers in the quickfix window.
---@param root string
---@param result backstitch.Applied
local function list_markers(root, result)
  local items = {}
  for _, conflict in ipairs(result.conflicts) do
    if words.given(conflict.resolution) == 'markers' then
      local buf = vim.fn.bufadd(vim.fs.joinpath(root, words.shown(conflict.path)))
      vim.fn.bufload(buf)
      for i, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
        if vim.startswith(line, '<<<<<<< ') then
          table.insert(items, { bufnr = buf, lnum = i, text = conflict.reason })
        end
      end
    end
  end
  if #items > 0 then
    vim.fn.setqflist({}, ' ', { title = CONFLICTS, items = items })
    -- the cursor stays in the text
    local window = vim.api.nvim_get_current_win()
    vim.cmd(('botright copen %d'):format(math.min(#items, 10)))
    vim.api.nvim_set_current_win(window)
  elseif vim.fn.getqflist({ title = 0 }).title == CONFLICTS then
    -- the markers are gone
    vim.fn.setqflist({}, 'r', { title = CONFLICTS, items = {} })
    vim.cmd.cclose()
  end
end

---@param verb backstitch.Verb
---@param result backstitch.Applied
---@param what? string What was undone, if it is less than files.
---@return string text, integer level
local function report(verb, result, what)
  local function list(paths)
    return table.concat(vim.tbl_map(words.shown, paths), ', ')
  end
  local pending = #vim.tbl_filter(function(edit)
    return edit.pending
  end, result.edits or {})
  local parts =
    { what and 'Undone: ' .. what or ('%s: %s'):format(DID[verb], words.count(#words.done(result), 'file')) }
  if pending > 0 then
    table.insert(parts, ('%d of them unsaved'):format(pending))
  end
  if #result.gaps > 0 then
    table.insert(parts, 'not restored: ' .. table.concat(vim.tbl_map(words.gap, result.gaps), '; '))
  end
  local missed = 0
  for _, each in ipairs({
    { result.not_taken, 'not accepted by the editor' },
    { result.incomplete, 'skipped, since another program uses them' },
  }) do
    if each[1] and #each[1] > 0 then
      missed = missed + #each[1]
      table.insert(parts, ('%s: %s'):format(each[2], list(each[1])))
    end
  end
  if result.awaited and #result.awaited > 0 then
    table.insert(parts, 'not yet shown in the editor: ' .. list(result.awaited))
  end
  if verb ~= 'undo' then
    table.insert(parts, ':Backstitch undo undoes this')
  end
  return 'backstitch: ' .. table.concat(parts, '; '), missed > 0 and vim.log.levels.WARN or vim.log.levels.INFO
end

---@param verb backstitch.Verb
---@param planned backstitch.PlanResult
local function nothing(verb, planned)
  local why = planned.nothing or table.concat(vim.tbl_map(words.gap, planned.gaps), '; ')
  local hint = verb == 'rewind' and not planned.exact and ' :Backstitch! rewind also discards your own edits.' or ''
  require('backstitch.notice').say(
    ('backstitch: %s: nothing to do%s.%s'):format(words.sentence(planned.title), why ~= '' and ': ' .. why or '', hint)
  )
end

--- Shows the plan, waits for the decision, runs it and reports the result. Shows the plan again if files changed meanwhile.
---@async
--- `is_plain`: a plan without conflicts and gaps runs at once, without a question.
---@param client vim.lsp.Client
---@param verb backstitch.Verb
---@param arguments table
---@param options? { is_plain?: boolean, what?: string }
---@return backstitch.Applied?
function M.run(client, verb, arguments, options)
  local command = 'backstitch.' .. verb
  ---@async
  local function look(asked)
    return server.request(client, 'backstitch/plan', dry(verb, asked))
  end
  ---@async
  ---@param result backstitch.Applied
  local function told(result)
    require('backstitch.conversation').report(result.conversation)
    if not result.operation or result.operation == vim.NIL then
      return nil
    end
    -- reload first, so that the screen agrees with the message
    local root = words.shown(server.request(client, 'backstitch/timeline', {
      workspace = arguments.workspace,
      uri = not arguments.workspace and arguments.uri or nil,
      limit = 1,
    }).workspace)
    require('backstitch.reload').below(root)
    require('backstitch.notice').say(report(verb, result, options and options.what))
    list_markers(root, result)
    return result
  end
  -- the server locates lines of a document when the command arrives, and asks for confirmation
  if arguments.lines then
    return told(server.execute(client, command, arguments))
  end
  local asked = arguments
  local planned = look(asked)
  -- a plan that differs from the request is shown
  local is_asked = options and options.is_plain
  while true do
    if planned.empty and #planned.conflicts == 0 and not words.given(planned.conversation) then
      nothing(verb, planned)
      return nil
    end
    local is_plain = is_asked and #planned.conflicts == 0 and #planned.gaps == 0
    local decision = is_plain and { on_conflict = 'fail' } or plan.decide(planned, ways(verb, asked, planned))
    is_asked = false
    if decision.instead then
      asked = vim.tbl_extend('force', asked, decision.instead)
      planned = look(asked)
    else
      local decided = vim.tbl_extend('force', asked, { onConflict = decision.on_conflict })
      local final, now = planned, planned
      if decision.on_conflict ~= 'fail' then
        final = look(decided)
        -- plans of two ways to decide differ; the one that was shown tells if anything changed since
        now = look(asked)
      end
      if is_same(planned, now) then
        decided.plan = final.plan
        local ok, got = pcall(server.execute, client, command, decided)
        if ok then
          local result = got --[[@as backstitch.Applied]]
          if not words.given(result.operation) then
            nothing(verb, final)
          end
          return told(result)
        end
        local again = got ~= task.CALLED_OFF and look(decided) or nil
        -- refused for another reason than that files changed
        if not again or again.plan == final.plan then
          error(got, 0)
        end
        now = look(asked)
      end
      require('backstitch.notice').say('backstitch: files changed meanwhile; this is the new plan', vim.log.levels.WARN)
      planned = now
    end
  end
end

return M
