--- Subcommands of `:Backstitch` on the history: the timeline, restores, differences, reviews, branches and tags.
local names = require('backstitch.commands.names')
local pick = require('backstitch.pick')
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

---@async
---@param client vim.lsp.Client
---@param verb backstitch.Verb
---@param arguments table
local function restore(client, verb, arguments)
  require('backstitch.restore').run(client, verb, arguments)
end

--- Returns the URI of a typed path; `%` and `#` expand as in Neovim.
---@param path string
---@return string uri
local function file(path)
  return vim.uri_from_fname(vim.fs.normalize(vim.fs.abspath(require('backstitch.outside').expanded(path))))
end

--- Returns the typed state, or the one that the user chooses: without any among all, after `/words` among those with these words.
---@async
---@param client vim.lsp.Client
---@param typed backstitch.Typed
---@param prompt string
---@param where table workspace or uri; kinds
---@return string rev, boolean is_typed
local function state(client, typed, prompt, where)
  local rev = typed.args[1]
  if rev and not vim.startswith(rev, '/') then
    return rev, true
  end
  local text = rev and vim.trim(typed.rest:sub(2)) or ''
  local at = vim.tbl_extend('force', where, { text = text ~= '' and text or nil })
  return words.rev(pick.checkpoint(client, prompt, at)), false
end

---@type backstitch.Subcommand[]
M.SUBCOMMANDS = {
  {
    name = 'log',
    usage = '[{file}|/{words}]',
    desc = 'Opens the timeline: branches, turns and steps, optionally of one file, or those whose prompt, label or call has'
      .. ' the words. An absolute path is a file if it exists. See |backstitch-timeline|.',
    max_args = 1,
    searches = true,
    complete = { 'file' },
    ask = function(client, at, typed)
      local path = typed.args[1]
      local text = path and path:match('^/') and not vim.uv.fs_stat(path) and vim.trim(typed.rest:sub(2)) or nil
      local filter = text and { text = text } or path and { uri = file(path) } or {}
      require('backstitch.timeline').open(client, at, filter)
    end,
  },
  {
    name = 'rewind',
    usage = '[{rev} [{file}...]|/{words}]',
    desc = 'Rewinds all files, or these, to a state. Shows the plan first. Your own edits stay; with a bang they are'
      .. ' discarded, too. Without {rev} you choose one, after a slash among those whose prompt, label or call has'
      .. ' the words. The list has the steps of a turn folded below it, and searches all of the history.',
    complete = { 'rev', 'file' },
    ask = function(client, arguments, typed)
      local rev, is_typed = state(client, typed, 'Rewind to', arguments)
      arguments.rev = rev
      arguments.exact = typed.bang or nil
      if is_typed and #typed.args > 1 then
        arguments.paths = vim.tbl_map(file, vim.list_slice(typed.args, 2))
      end
      restore(client, 'rewind', arguments)
    end,
  },
  {
    name = 'undoturn',
    usage = '',
    desc = "Undoes the agent's last turn, whose work is in force: `rewind @turn`. Shows the plan first. Your own edits stay.",
    max_args = 0,
    ask = function(client, arguments)
      arguments.rev = '@turn'
      restore(client, 'rewind', arguments)
    end,
  },
  {
    name = 'undo',
    usage = '[{operation}]',
    desc = 'Undoes the last rewind, revert or switch, or the named operation.',
    max_args = 1,
    ask = function(client, arguments, typed)
      arguments.op = typed.args[1]
      restore(client, 'undo', arguments)
    end,
  },
  {
    name = 'redo',
    usage = '',
    desc = 'Redoes the operation that was undone last.',
    max_args = 0,
    ask = function(client, arguments)
      restore(client, 'redo', arguments)
    end,
  },
  {
    name = 'revert',
    usage = '[{turn}|{step}|/{words}]',
    desc = 'Reverts one turn or step and keeps later ones. Without an argument you choose one, after a slash among those'
      .. ' with the words.',
    max_args = 1,
    searches = true,
    complete = { 'turn' },
    ask = function(client, arguments, typed)
      local kinds = { turn = true, step = true }
      local rev = state(client, typed, 'Revert', { workspace = arguments.workspace, kinds = kinds })
      arguments[rev:match('^t%d') and 'turn' or 'step'] = rev
      restore(client, 'revert', arguments)
    end,
  },
  {
    name = 'diff',
    usage = '[{rev}|off]',
    desc = 'Marks the differences between the current buffer and a state, by default the one before the newest turn.'
      .. ' `off`, or no {rev} while an inline diff is shown, ends it. See |backstitch-diff|.',
    max_args = 1,
    complete = { 'rev' },
    run = function(typed)
      local review = require('backstitch.review')
      local rev = typed.args[1]
      local known = review.of(typed.buf)
      if rev == 'off' or (not rev and known and known.style == 'inline') then
        return review.finish(typed.buf)
      end
      review.start(typed.buf, rev or review.LAST_TURN)
    end,
  },
  {
    name = 'diffsplit',
    usage = '[{rev}]',
    desc = "Opens the older file beside the buffer, both with 'diff'.",
    max_args = 1,
    complete = { 'rev' },
    run = function(typed)
      require('backstitch.review').split(typed.buf, typed.args[1] or require('backstitch.review').LAST_TURN)
    end,
  },
  {
    name = 'changes',
    usage = '[{rev} [{rev2}]]',
    desc = 'Shows the differences in all files: between two states, or between one state and now. The same turn twice'
      .. ' (`changes t4 t4`) shows the changes of that turn alone. <CR> on a line opens its file there.',
    max_args = 2,
    complete = { 'rev' },
    ask = function(client, arguments, typed)
      local from, to = typed.args[1], typed.args[2]
      if from and from == to and from:match('^t%d+$') then
        arguments.turn = from
      else
        arguments.rev, arguments.rev2 = from, to
      end
      server.execute(client, 'backstitch.diff', arguments)
    end,
  },
  {
    name = 'review',
    usage = '[{rev}]',
    desc = 'Opens a tab with all files that changed since a state, by default since the last turn: a list, and the file'
      .. ' beside it. See |backstitch-review|.',
    max_args = 1,
    complete = { 'rev' },
    ask = function(client, at, typed)
      local rev = typed.args[1] or require('backstitch.review').LAST_TURN
      require('backstitch.panel').open(client, at.workspace, rev)
    end,
  },
  {
    name = 'qflist',
    usage = '[{rev}]',
    desc = 'Lists in the quickfix window the changes of agents that you have not reviewed, each with its prompt. With'
      .. ' {rev}: all changes since that state. Changes that you keep, here, in another editor or with `backstitch'
      .. ' review`, are not listed.',
    max_args = 1,
    complete = { 'rev' },
    ask = function(client, at, typed)
      local unreviewed = require('backstitch.unreviewed')
      if typed.args[1] then
        return unreviewed.since(client, at, typed.args[1])
      end
      unreviewed.open(client, at)
    end,
  },
  {
    name = 'next',
    usage = '[{count}]',
    desc = 'In an inline diff: goes to the next change. In a review it continues in the next file.',
    max_args = 1,
    run = function(typed)
      require('backstitch.review').jump(true, tonumber(typed.args[1]))
    end,
  },
  {
    name = 'prev',
    usage = '[{count}]',
    desc = 'In an inline diff: goes to the previous change. In a review it continues in the previous file.',
    max_args = 1,
    run = function(typed)
      require('backstitch.review').jump(false, tonumber(typed.args[1]))
    end,
  },
  {
    name = 'nextfile',
    usage = '[{count}]',
    desc = 'In a review: opens the next file.',
    max_args = 1,
    run = function(typed)
      require('backstitch.panel').step(true, tonumber(typed.args[1]))
    end,
  },
  {
    name = 'prevfile',
    usage = '[{count}]',
    desc = 'In a review: opens the previous file.',
    max_args = 1,
    run = function(typed)
      require('backstitch.panel').step(false, tonumber(typed.args[1]))
    end,
  },
  {
    name = 'preview',
    usage = '',
    desc = 'In an inline diff: shows the change on this line in a float, with the prompt that it is from.',
    max_args = 0,
    run = function()
      require('backstitch.review').preview()
    end,
  },
  {
    name = 'takeback',
    usage = '',
    desc = 'In an inline diff: undoes the change in this line, or those in a range of lines.',
    max_args = 0,
    run = function(typed)
      require('backstitch.review').take_back(typed.first, typed.last)
    end,
  },
  {
    name = 'keep',
    usage = '',
    desc = 'In an inline diff: keeps the change in this line, or those in a range of lines. Neovim, other editors and'
      .. ' `backstitch review` do not mark a kept change until it changes again. Lines that are not saved cannot be kept.'
      .. ' With a bang all kept changes of the file are marked again.',
    max_args = 0,
    run = function(typed)
      local review = require('backstitch.review')
      if typed.bang then
        return review.forget()
      end
      review.keep(typed.first, typed.last)
    end,
  },
  {
    name = 'merge',
    usage = '',
    desc = 'Merges the change of the file on disk into the unsaved text of the current buffer. You choose between lines'
      .. ' that both changed: the question shows how your text differs from the file.',
    max_args = 0,
    run = function(typed)
      require('backstitch.on_disk').merge(typed.buf)
    end,
  },
  {
    name = 'conversation',
    usage = '[{rev}]',
    desc = 'Continues the newest conversation that was rewound, or the newest one that ends before a turn, in a terminal. With'
      .. ' a bang it makes one that ends before {rev}. The files stay as they are.',
    max_args = 1,
    complete = { 'rev' },
    ask = function(client, arguments, typed)
      arguments.rev = typed.args[1]
      if not typed.bang then
        return require('backstitch.conversation').last(client, arguments)
      end
      arguments.rev = state(client, typed, 'Rewind the conversation to', arguments)
      require('backstitch.conversation').rewind(client, arguments)
    end,
  },
  {
    name = 'summarize',
    usage = '{turn} from|up_to',
    desc = 'Summarises a turn of a conversation and all after it (`from`), or all before it (`up_to`). The summary opens in a'
      .. ' buffer: writing it makes the conversation with it. The files stay as they are.',
    max_args = 2,
    complete = { 'rev', 'off' },
    ask = function(client, arguments, typed)
      arguments.turn, arguments.part = typed.args[1] or '@turn', typed.args[2] or 'from'
      require('backstitch.conversation').summarize(client, arguments)
    end,
  },
  {
    name = 'fork',
    usage = '[{rev} [{name} [{directory}]]|/{words}]',
    desc = "Creates a branch at a state, optionally in its own directory. With a bang the agent's conversation is forked, too."
      .. ' Without {rev} you choose one, after a slash among those with the words.',
    max_args = 3,
    searches = true,
    complete = { 'rev', 'off', 'file' },
    ask = function(client, arguments, typed)
      local rev, is_typed = state(client, typed, 'Fork from', arguments)
      local args = is_typed and typed.args or {}
      arguments.rev, arguments.name = rev, args[2]
      arguments.into = args[3] and vim.fs.normalize(vim.fs.abspath(args[3]))
      arguments.scope = typed.bang and 'both' or nil
      names.fork(client, arguments)
    end,
  },
  {
    name = 'switch',
    usage = '[{branch}]',
    desc = 'Switches to a branch. Shows the plan first. Without {branch} you choose one.',
    max_args = 1,
    complete = { 'branch' },
    ask = function(client, arguments, typed)
      arguments.branch = typed.args[1] or pick.branch(client, 'Switch to', arguments)
      restore(client, 'switch', arguments)
    end,
  },
  {
    name = 'tag',
    usage = '[{name} [{rev}]]',
    desc = 'Tags a state, by default the newest.',
    max_args = 2,
    complete = { 'off', 'rev' },
    ask = function(client, arguments, typed)
      arguments.name, arguments.rev = typed.args[1], typed.args[2]
      names.tag(client, arguments)
    end,
  },
  {
    name = 'pin',
    usage = '[{rev}]',
    desc = 'Pins a checkpoint, by default the newest: it is kept however old it becomes.',
    max_args = 1,
    complete = { 'rev' },
    ask = function(client, arguments, typed)
      arguments.rev = typed.args[1]
      names.pin(client, arguments)
    end,
  },
  {
    name = 'unpin',
    usage = '[{rev}]',
    desc = 'Unpins a checkpoint: it may be removed by age again.',
    max_args = 1,
    complete = { 'rev' },
    ask = function(client, arguments, typed)
      arguments.rev, arguments.pinned = typed.args[1], false
      names.pin(client, arguments)
    end,
  },
  {
    name = 'checkpoint',
    usage = '[{label}]',
    desc = 'Makes a checkpoint of the present state, unsaved text included.',
    complete = { 'off' },
    ask = function(client, arguments, typed)
      local label = table.concat(typed.args, ' ')
      arguments.label = label ~= '' and label or nil
      ---@type backstitch.Checkpoint
      local made = server.execute(client, 'backstitch.checkpoint', arguments)
      require('backstitch.notice').say(('backstitch: checkpoint %s'):format(made.id))
    end,
  },
  {
    name = 'blame',
    usage = '',
    desc = 'Toggles the author at the end of the current line.',
    max_args = 0,
    run = function()
      require('backstitch.blame').toggle()
    end,
  },
  {
    name = 'sessions',
    usage = '',
    desc = 'Lists the sessions of agents, and opens the timeline of the one that you choose.',
    max_args = 0,
    ask = function(client, at)
      local session = pick.session(client, at)
      local name = ('session %s of %s'):format(session.letter, session.agent)
      require('backstitch.timeline').open(client, at, { session = session.session }, name)
    end,
  },
  {
    name = 'restart',
    usage = '',
    desc = 'Restarts the language server.',
    max_args = 0,
    run = function()
      server.restart()
    end,
  },
}

return M
