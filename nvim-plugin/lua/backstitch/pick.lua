--- Pickers for checkpoints, branches and sessions through `vim.ui.select`, with the changes as preview.
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Time limit of a preview, in milliseconds.
local PREVIEW_TIMEOUT = 1000

--- Maximum number of rows.
local LIMIT = 200

--- Returns the lines of a unified diff.
---@param diff backstitch.DiffResult
---@return string[]
function M.unified(diff)
  local lines = {}
  for _, file in ipairs(diff.files) do
    local path = words.shown(file.path)
    local from = file.from and words.shown(file.from) or path
    vim.list_extend(lines, {
      '--- ' .. (file.kind == 'create' and '/dev/null' or from),
      '+++ ' .. (file.kind == 'delete' and '/dev/null' or path),
    })
    if file.binary then
      table.insert(lines, 'binary')
    end
    for _, hunk in ipairs(file.hunks) do
      table.insert(lines, ('@@ -%d,%d +%d,%d @@'):format(hunk.old[1], hunk.old[2], hunk.new[1], hunk.new[2]))
      for _, line in ipairs(hunk.removed) do
        table.insert(lines, '-' .. words.shown(line))
      end
      for _, line in ipairs(hunk.added) do
        table.insert(lines, '+' .. words.shown(line))
      end
    end
  end
  return #lines > 0 and lines or { 'No differences.' }
end

--- Returns the range for `backstitch/diff` that a checkpoint changed.
---@param checkpoint backstitch.Checkpoint
---@return table?
function M.range(checkpoint)
  if checkpoint.kind == 'turn' then
    return nil
  end
  local parent = words.given(checkpoint.parent)
  return parent and { from = parent, to = checkpoint.id } or nil
end

--- Shows the changes of a checkpoint in a buffer that closes with its window, the form of a preview in Neovim 0.12. The
--- result is a list of lines, too, the form that older versions of mini.pick want.
---@param client vim.lsp.Client
---@param workspace string
---@param checkpoint backstitch.Checkpoint
---@param last { buf?: integer } The previous preview; its buffer is reused if it still exists.
---@return { buf: integer }
local function preview(client, workspace, checkpoint, last)
  local range = M.range(checkpoint) or { from = words.rev(checkpoint) }
  range.workspace = workspace
  local diff, wrong = server.request_now(client, 'backstitch/diff', range, PREVIEW_TIMEOUT)
  local lines = diff and M.unified(diff) or { wrong or 'No preview.' }
  local function buffer()
    if not last.buf or not vim.api.nvim_buf_is_valid(last.buf) then
      last.buf = vim.api.nvim_create_buf(false, true)
      vim.bo[last.buf].bufhidden = 'wipe'
      vim.bo[last.buf].filetype = 'diff'
    end
    vim.api.nvim_buf_set_lines(last.buf, 0, -1, false, lines)
    return last.buf
  end
  return setmetatable(lines, {
    __index = function(_, key)
      return key == 'buf' and buffer() or nil
    end,
  })
end

--- One row of a list of checkpoints.
---@param checkpoint backstitch.Checkpoint
---@param now integer
---@return string
function M.row(checkpoint, now)
  local parts = { words.about(checkpoint) }
  for _, part in ipairs({
    words.given(checkpoint.agent) or '',
    words.counts(checkpoint.changes),
    table.concat(checkpoint.tags, ', '),
    words.ago(checkpoint.time, now),
  }) do
    if part ~= '' then
      table.insert(parts, part)
    end
  end
  return ('%-5s %s'):format(words.rev(checkpoint), table.concat(parts, ' · '))
end

--- Asks for a checkpoint of the current branch.
---@async
---@param client vim.lsp.Client
---@param prompt string
---@param where table workspace or uri; kinds: limits the rows
---@return backstitch.Checkpoint
function M.checkpoint(client, prompt, where)
  local page =
    server.request(client, 'backstitch/timeline', { workspace = where.workspace, uri = where.uri, limit = LIMIT })
  local all = vim.tbl_filter(function(checkpoint)
    return not where.kinds or where.kinds[checkpoint.kind]
  end, page.checkpoints)
  if #all == 0 then
    task.fail({ message = 'There are no checkpoints yet', hint = 'They appear once an agent works here' })
  end
  local now = os.time()
  local last = {}
  local ok, chosen = pcall(task.select, all, {
    prompt = prompt,
    kind = 'backstitch.checkpoint',
    format_item = function(checkpoint)
      return M.row(checkpoint, now)
    end,
    preview_item = function(checkpoint)
      return preview(client, words.shown(page.workspace), checkpoint, last)
    end,
  })
  if last.buf and vim.api.nvim_buf_is_valid(last.buf) then
    vim.api.nvim_buf_delete(last.buf, { force = true })
  end
  if not ok then
    error(chosen, 0)
  end
  return chosen --[[@as backstitch.Checkpoint]]
end

--- Asks for a branch other than the current one.
---@async
---@param client vim.lsp.Client
---@param prompt string
---@param where table
---@return string
function M.branch(client, prompt, where)
  local page = server.request(client, 'backstitch/timeline', vim.tbl_extend('force', where, { limit = 1 }))
  local others = vim.tbl_filter(function(branch)
    return not branch.current and not branch.deleted
  end, page.branches)
  if #others == 0 then
    task.fail({ message = 'There is no other branch', hint = ':Backstitch fork creates one' })
  end
  return task.select(others, {
    prompt = prompt,
    kind = 'backstitch.branch',
    format_item = function(branch)
      local from = words.given(branch.fork_point)
      return branch.name .. (from and ' · from ' .. from or '')
    end,
  }).name
end

--- Asks for a session of an agent.
---@async
---@param client vim.lsp.Client
---@param where table
---@return backstitch.AgentSession
function M.session(client, where)
  local all = server.request(client, 'backstitch/sessions', next(where) and where or vim.empty_dict()).sessions
  if #all == 0 then
    task.fail({ message = 'No agent has worked here yet' })
  end
  local now = os.time()
  return task.select(all, {
    prompt = 'Session',
    kind = 'backstitch.session',
    format_item = function(session)
      local newest = session.turns[1]
      local about = newest and ('“%s” · %s'):format(words.line(newest.prompt), words.ago(newest.time, now)) or ''
      local letter = #all > 1 and session.letter .. ' · ' or ''
      return ('%s%s · %s · %s'):format(letter, session.agent, words.count(#session.turns, 'turn'), about)
    end,
  })
end

return M
