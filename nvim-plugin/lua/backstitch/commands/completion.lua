--- Completion of `:Backstitch`: its subcommands, and the states, branches and files that they take.
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

--- Time limit of a completion, in milliseconds.
local COMPLETION_TIMEOUT = 500

--- Returns the subcommand with this name.
---@param subcommands backstitch.Subcommand[]
---@param name? string
---@return backstitch.Subcommand?
function M.named(subcommands, name)
  for _, subcommand in ipairs(subcommands) do
    if subcommand.name == name then
      return subcommand
    end
  end
end

---@param kind string
---@return string[]
local function candidates(kind)
  local client = server.find()
  if not client or not client.initialized or kind == 'off' then
    return {}
  end
  local params = { workspace = vim.b.backstitch_root or server.root_of(client), limit = 100 }
  local page = server.request_now(client, 'backstitch/timeline', params, COMPLETION_TIMEOUT)
  if not page then
    return {}
  end
  local found, seen = kind == 'rev' and { '@' } or {}, {}
  local function add(word)
    if word and not seen[word] then
      seen[word] = true
      table.insert(found, word)
    end
  end
  for _, branch in ipairs(page.branches) do
    if not branch.deleted and (kind == 'rev' or (kind == 'branch' and not branch.current)) then
      add(branch.name)
    end
  end
  if kind == 'branch' then
    return found
  end
  for _, checkpoint in ipairs(page.checkpoints) do
    if kind == 'rev' then
      for _, tag in ipairs(checkpoint.tags) do
        add(tag)
      end
    end
    add(words.given(checkpoint.turn))
  end
  for _, checkpoint in ipairs(page.checkpoints) do
    if kind == 'rev' or checkpoint.kind == 'step' then
      add(checkpoint.id)
    end
  end
  return found
end

--- Returns completions at the cursor.
---@param subcommands backstitch.Subcommand[]
---@param word string The part that is typed already.
---@param line string
---@return string[]
function M.complete(subcommands, word, line)
  local before = vim.split(line:sub(1, #line - #word), '%s+', { trimempty = true })
  -- a range or a command modifier before the command is not an argument
  local at = 1
  while before[at] and not before[at]:match('[Bb]ack?s?t?i?t?c?h?!?$') do
    at = at + 1
  end
  local args = vim.list_slice(before, at + 1)
  local all = {}
  if #args == 0 then
    all = vim.tbl_map(function(subcommand)
      return subcommand.name
    end, subcommands)
  else
    local subcommand = M.named(subcommands, args[1])
    local kinds = subcommand and subcommand.complete or {}
    local kind = kinds[math.min(#args, #kinds)]
    local fixed = {
      breakpoint = vim.list_extend({ 'list', 'clear' }, require('backstitch.breakpoints').KINDS),
      job = require('backstitch.jobs').ACTIONS,
      step = { 'over', 'into', 'out', 'file', 'turn' },
    }
    if fixed[kind] then
      return vim.tbl_filter(function(each)
        return vim.startswith(each, word)
      end, fixed[kind])
    end
    if subcommand and subcommand.max_args and #args > subcommand.max_args then
      kind = nil
    end
    if kind == 'job_name' then
      return vim.tbl_filter(function(each)
        return vim.startswith(each, word)
      end, require('backstitch.jobs').candidates(args[2]))
    end
    if kind == 'file' then
      return require('backstitch.outside').complete_file(word)
    end
    all = kind and candidates(kind) or {}
    if args[1] == 'diff' then
      table.insert(all, 'off')
    end
  end
  return vim.tbl_filter(function(each)
    return vim.startswith(each, word)
  end, all)
end

return M
