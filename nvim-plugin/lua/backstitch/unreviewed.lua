--- Quickfix lists of changes: those of agents that the user has not reviewed, or all since a state.
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

--- Returns the entries of a file: one for each hunk, or one for a file that has none.
---@param root string
---@param file backstitch.ReviewFile
---@return vim.quickfix.entry[]
local function entries(root, file)
  local filename = vim.fs.joinpath(root, words.shown(file.path))
  local items = {}
  for _, hunk in ipairs(words.given(file.hunks) or {}) do
    local first, count = hunk.new[1], hunk.new[2]
    local turn, prompt = words.given(hunk.turn), words.given(hunk.prompt)
    local by = turn and ('%s %s'):format(turn, words.line(prompt or '')) or words.given(hunk.agent) or 'unknown author'
    table.insert(items, {
      filename = filename,
      lnum = math.max(1, first),
      end_lnum = count > 0 and first + count - 1 or nil,
      text = ('%s  +%d -%d'):format(vim.trim(by), #hunk.added, #hunk.removed),
    })
  end
  if #items == 0 then
    local text = file.binary and 'binary' or file.line_ends and 'line ends' or file.kind
    items[1] = { filename = filename, text = text }
  end
  return items
end

---@param items vim.quickfix.entry[]
---@param title string
---@param nothing string
local function show(items, title, nothing)
  if #items == 0 then
    require('backstitch.notice').say('backstitch: ' .. nothing)
    return
  end
  vim.fn.setqflist({}, ' ', { title = title, items = items })
  vim.cmd('botright copen')
end

--- Lists all changes since a state that the user has not kept.
---@async
---@param client vim.lsp.Client
---@param at { workspace: string }
---@param rev string
function M.since(client, at, rev)
  local diff = server.request(client, 'backstitch/diff', { workspace = at.workspace, from = rev, to = 'buffer' })
  local items = {}
  for _, file in ipairs(diff.files) do
    local filename = vim.fs.joinpath(at.workspace, words.shown(file.path))
    local count = #items
    for _, hunk in ipairs(file.hunks) do
      if not hunk.kept then
        local line = words.shown(hunk.added[1] or hunk.removed[1] or '')
        table.insert(items, {
          filename = filename,
          lnum = math.max(1, hunk.new[1]),
          end_lnum = hunk.new[2] > 0 and hunk.new[1] + hunk.new[2] - 1 or nil,
          text = ('+%d -%d  %s'):format(#hunk.added, #hunk.removed, words.line(line)),
        })
      end
    end
    if #items == count and not file.kept and #file.hunks == 0 then
      table.insert(items, { filename = filename, text = file.binary and 'binary' or file.kind })
    end
  end
  show(items, ('Backstitch: changes since %s'):format(rev), ('No changes since %s'):format(rev))
end

--- Lists what is not reviewed, or says that there is nothing to review.
---@async
---@param client vim.lsp.Client
---@param at { workspace: string }
function M.open(client, at)
  ---@type backstitch.ReviewResult
  local all = server.request(client, 'backstitch/review', at)
  local items = {}
  for _, listed in ipairs(all.files) do
    local path = vim.fs.joinpath(at.workspace, words.shown(listed.path))
    local params = { workspace = at.workspace, uri = vim.uri_from_fname(path) }
    -- the list has no hunks
    ---@type backstitch.ReviewResult
    local found = server.request(client, 'backstitch/review', params)
    for _, file in ipairs(found.files) do
      vim.list_extend(items, entries(at.workspace, file))
    end
  end
  show(items, 'Backstitch: not reviewed', 'Nothing to review')
end

return M
