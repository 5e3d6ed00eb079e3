--- `:Backstitch`: its subcommands, their completion, and the commands of lenses and code actions.
local pick = require('backstitch.pick')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

---@return string[]
local function kind_names()
  return vim.tbl_map(function(kind)
    return kind.name
  end, require('backstitch.kinds'))
end

local M = {}

--- Time limit of a completion, in milliseconds.
local COMPLETION_TIMEOUT = 500

---@class backstitch.Typed
---@field args string[]
---@field rest string What follows the name, as it was typed.
---@field bang boolean
---@field buf integer
---@field first integer
---@field last integer

---@class backstitch.Subcommand
---@field name string
---@field usage string Arguments after the name.
---@field desc string
---@field max_args? integer Unlimited by default.
---@field complete? ('rev'|'branch'|'turn'|'file'|'breakpoint'|'step'|'off')[] Kind of each argument; the last kind is that of all further arguments.
---@field run? async fun(typed: backstitch.Typed)
---@field ask? async fun(client: vim.lsp.Client, at: table<string, any>, typed: backstitch.Typed) For commands on the whole workspace: its server, and the parameters that name it.

--- Returns the root of the workspace. A document would limit some commands to that file.
---@async
---@param client vim.lsp.Client
---@param buf integer
---@return table<string, any>
local function workspace(client, buf)
  local params = vim.tbl_extend('force', server.where(client, buf), { limit = 1 })
  return { workspace = words.shown(server.request(client, 'backstitch/timeline', params).workspace) }
end

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

--- Creates a branch. Asks for its name if none is given.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, name, into
function M.fork(client, arguments)
  if not arguments.name then
    arguments.name = task.input({ prompt = ('Branch from %s: '):format(arguments.rev or 'now') })
  end
  arguments = vim.tbl_extend('force', arguments, { confirm = false })
  ---@type backstitch.ForkResult
  local forked = server.execute(client, 'backstitch.fork', arguments)
  local into = forked.into and ' in ' .. words.shown(forked.into) or ''
  local next_step = into == '' and ('; :Backstitch switch %s switches to it'):format(forked.branch.name) or ''
  require('backstitch.notice').say(('backstitch: created branch %s%s%s'):format(forked.branch.name, into, next_step))
end

--- Tags a state. Asks for the tag if none is given.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, name
function M.tag(client, arguments)
  if not arguments.name then
    arguments.name = task.input({ prompt = ('Tag for %s: '):format(arguments.rev or 'now') })
  end
  ---@type backstitch.TagResult
  local tagged = server.execute(client, 'backstitch.tag', arguments)
  require('backstitch.notice').say(('backstitch: tagged %s as %s'):format(tagged.checkpoint, tagged.tag))
end

--- Pins or unpins a checkpoint.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, pinned
function M.pin(client, arguments)
  ---@type backstitch.PinResult
  local done = server.execute(client, 'backstitch.pin', arguments)
  require('backstitch.notice').say(
    ('backstitch: %s is %s'):format(done.checkpoint, done.pinned and 'pinned' or 'no longer pinned')
  )
end

---@type backstitch.Subcommand[]
M.SUBCOMMANDS = {
  {
    name = 'log',
    usage = '[{file}]',
    desc = 'Opens the timeline: branches, turns and steps, optionally of one file. See |backstitch-timeline|.',
    max_args = 1,
    complete = { 'file' },
    ask = function(client, at, typed)
      local filter = typed.args[1] and { uri = file(typed.args[1]) } or {}
      require('backstitch.timeline').open(client, at, filter)
    end,
  },
  {
    name = 'rewind',
    usage = '[{rev} [{file}...]]',
    desc = 'Rewinds all files, or these, to a state. Shows the plan first. Your own edits stay; with a bang they are'
      .. ' discarded, too. Without {rev} you choose one.',
    complete = { 'rev', 'file' },
    ask = function(client, arguments, typed)
      arguments.rev = typed.args[1] or words.rev(pick.checkpoint(client, 'Rewind to', arguments))
      arguments.exact = typed.bang or nil
      if #typed.args > 1 then
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
    usage = '[{turn}|{step}]',
    desc = 'Reverts one turn or step and keeps later ones. Without an argument you choose one.',
    max_args = 1,
    complete = { 'turn' },
    ask = function(client, arguments, typed)
      local rev = typed.args[1]
      if not rev then
        local kinds = { turn = true, step = true }
        local chosen = pick.checkpoint(client, 'Revert', { workspace = arguments.workspace, kinds = kinds })
        rev = words.rev(chosen)
      end
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
      .. ' (`changes t4 t4`) shows the changes of that turn alone.',
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
      .. ' that both changed.',
    max_args = 0,
    run = function(typed)
      require('backstitch.on_disk').merge(typed.buf)
    end,
  },
  {
    name = 'fork',
    usage = '[{rev} [{name} [{directory}]]]',
    desc = 'Creates a branch at a state, optionally in its own directory.',
    max_args = 3,
    complete = { 'rev', 'off', 'file' },
    ask = function(client, arguments, typed)
      arguments.rev = typed.args[1] or words.rev(pick.checkpoint(client, 'Fork from', arguments))
      arguments.name = typed.args[2]
      arguments.into = typed.args[3] and vim.fs.normalize(vim.fs.abspath(typed.args[3]))
      M.fork(client, arguments)
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
      M.tag(client, arguments)
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
      M.pin(client, arguments)
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
      M.pin(client, arguments)
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
  {
    name = 'pauses',
    usage = '',
    desc = 'Opens the held calls of agents in a tab, with the files that a call would write: as they are, and as they would be.'
      .. ' The right side can be edited; |:w| has the call checked with your text, and decides nothing. See'
      .. ' |backstitch-pauses|.',
    max_args = 0,
    ask = function(client)
      require('backstitch.pauses').open(client)
    end,
  },
  {
    name = 'breakpoint',
    usage = '[list|clear|{kind} {value}]',
    desc = 'Stops agents before they change these lines, or no longer. `list` enables, disables or removes one, and `clear`'
      .. ' removes all. Kinds: `'
      .. table.concat(kind_names(), '`, `')
      .. '`.',
    complete = { 'breakpoint', 'off' },
    ask = function(client, at, typed)
      local breakpoints = require('backstitch.breakpoints')
      local what = typed.args[1]
      if what == nil then
        breakpoints.toggle(client, typed.buf, typed.first, typed.last)
      elseif what == 'list' then
        breakpoints.list(client, at)
      elseif what == 'clear' then
        ---@type backstitch.RemovedResult
        local done = server.execute(client, 'backstitch.breakpoint.clear', at)
        require('backstitch.notice').say(('backstitch: removed %d breakpoints'):format(done.removed))
      elseif vim.list_contains(breakpoints.KINDS, what) then
        breakpoints.add(client, at, what, vim.list_slice(typed.args, 2))
      else
        task.fail({
          message = ("unknown kind of breakpoint '%s'"):format(what),
          hint = 'the kinds are ' .. table.concat(breakpoints.KINDS, ', '),
        })
      end
    end,
  },
  {
    name = 'pause',
    usage = '',
    desc = 'Holds the next call of an agent.',
    max_args = 0,
    ask = function(client, at)
      server.execute(client, 'backstitch.pause', at)
      require('backstitch.notice').say('backstitch: the next call of an agent is held')
    end,
  },
  {
    name = 'resume',
    usage = '[{pause}]',
    desc = 'Lets a held call run, with your changes. With a bang also one that its tool will refuse.',
    max_args = 1,
    ask = function(client, _, typed)
      require('backstitch.pauses').resume(client, typed.args[1], typed.bang)
    end,
  },
  {
    name = 'step',
    usage = '[over|into|out|file|turn]',
    desc = 'Lets a held call run, with your changes, and holds the next one: of this thread, of any, of the main thread, of'
      .. ' another file, of another turn. With a bang also one that its tool will refuse.',
    max_args = 1,
    complete = { 'step' },
    ask = function(client, _, typed)
      require('backstitch.pauses').step(client, typed.args[1] or 'over', typed.bang)
    end,
  },
  {
    name = 'skip',
    usage = '[{pause}]',
    desc = 'Keeps a held call from running; the agent continues without it.',
    max_args = 1,
    ask = function(client, _, typed)
      require('backstitch.pauses').skip(client, typed.args[1])
    end,
  },
  {
    name = 'deny',
    usage = '[{reason}]',
    desc = 'Refuses a held call, with a reason for the model.',
    ask = function(client, _, typed)
      local reason = table.concat(typed.args, ' ')
      require('backstitch.pauses').refuse(client, 'deny', reason ~= '' and reason or nil)
    end,
  },
  {
    name = 'stop',
    usage = '[{reason}]',
    desc = "Refuses a held call, and ends the agent's turn.",
    ask = function(client, _, typed)
      local reason = table.concat(typed.args, ' ')
      require('backstitch.pauses').refuse(client, 'stop', reason ~= '' and reason or nil)
    end,
  },
  {
    name = 'back',
    usage = '[{steps}]',
    desc = "Takes the last steps of a held call's session out, and refuses the call.",
    max_args = 1,
    ask = function(client, _, typed)
      require('backstitch.pauses').back(client, typed.args[1])
    end,
  },
  {
    name = 'repl',
    usage = '[{pause}|list [{text}]]',
    desc = 'Opens a REPL at a held call, or at a paused program: the transcript above, the input below. <CR> evaluates,'
      .. ' <S-CR> or <C-J> begins a new line, <Up> and <Down> go through earlier inputs. In the transcript, `K` shows a'
      .. ' value, `S` the call stack, `C` the calls. `list` shows earlier sessions; `status:active`, `status:closed`,'
      .. ' `from:2026-11-01` and `to:2026-11-30` limit it.',
    ask = function(client, _, typed)
      if typed.args[1] == 'list' then
        local text = table.concat(vim.list_slice(typed.args, 2), ' ')
        require('backstitch.repl').list(client, text ~= '' and text or nil)
      else
        require('backstitch.pauses').repl(client, typed.args[1])
      end
    end,
  },
  {
    name = 'eval',
    usage = '[{input}]',
    desc = 'Evaluates an input, or these lines, in the REPL that was opened last, or in a new one at the held call.',
    ask = function(client, _, typed)
      local text = typed.rest
      if text == '' then
        local lines = vim.api.nvim_buf_get_lines(typed.buf, typed.first - 1, typed.last, false)
        text = words.dedent(table.concat(lines, '\n'))
      end
      require('backstitch.pauses').eval(client, text)
    end,
  },
  {
    name = 'stack',
    usage = '[{pause}]',
    desc = 'Lists the frames of a paused program, each with the lines around it: <Tab> unfolds them, <CR> opens the source.'
      .. ' The paused line is marked in its buffer. Below the frames are its REPL sessions and its call, which'
      .. ' <CR> shows. A pause that is named may be over.',
    max_args = 1,
    ask = function(client, _, typed)
      require('backstitch.pauses').stack(client, typed.args[1])
    end,
  },
  {
    name = 'calls',
    usage = '',
    desc = 'Lists programs with the calls that they watch, as a tree. <CR> shows the REPL session of a call.',
    max_args = 0,
    ask = function(client)
      require('backstitch.programs').calls(client)
    end,
  },
  {
    name = 'inject',
    usage = '[{text}]',
    desc = 'Sends a text to the model of an agent, with its next event.',
    ask = function(client, _, typed)
      local text = table.concat(typed.args, ' ')
      require('backstitch.pauses').inject(client, text ~= '' and text or nil)
    end,
  },
}

---@param name string
---@return backstitch.Subcommand?
local function named(name)
  for _, subcommand in ipairs(M.SUBCOMMANDS) do
    if subcommand.name == name then
      return subcommand
    end
  end
end

--- Runs `:Backstitch` with its arguments; without any it opens the timeline.
---@param typed vim.api.keyset.create_user_command.command_args
function M.run(typed)
  local args = vim.list_slice(typed.fargs, 2)
  local name = typed.fargs[1] or 'log'
  local subcommand = named(name)
  task.run(function()
    if not subcommand then
      task.fail({
        message = ("unknown subcommand '%s'"):format(name),
        hint = ':help :Backstitch lists them all',
      })
    end
    if subcommand.max_args and #args > subcommand.max_args then
      task.fail({
        message = (":Backstitch %s: unexpected argument '%s'"):format(name, args[subcommand.max_args + 1]),
        hint = (':Backstitch %s %s'):format(name, subcommand.usage),
      })
    end
    local buf = vim.api.nvim_get_current_buf()
    local rest = vim.trim((typed.args:gsub('^%s*%S+', '')))
    local parsed = { args = args, rest = rest, bang = typed.bang, buf = buf, first = typed.line1, last = typed.line2 }
    if subcommand.run then
      return subcommand.run(parsed)
    end
    local client = server.client(buf)
    assert(subcommand.ask)(client, workspace(client, buf), parsed)
  end)
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
---@param word string The part that is typed already.
---@param line string
---@return string[]
function M.complete(word, line)
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
    end, M.SUBCOMMANDS)
  else
    local subcommand = named(args[1] or '')
    local kinds = subcommand and subcommand.complete or {}
    local kind = kinds[math.min(#args, #kinds)]
    local fixed = {
      breakpoint = vim.list_extend({ 'list', 'clear' }, require('backstitch.breakpoints').KINDS),
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

--- Runs a command of a lens or a code action with its arguments.
---@param name string
---@param arguments table
---@param ctx { client_id: integer, bufnr?: integer }
function M.from_server(name, arguments, ctx)
  task.run(function()
    local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
    local verbs = { rewind = true, revert = true, undo = true, redo = true, switch = true }
    local is_named = arguments.rev or arguments.turn or arguments.step or name == 'undo' or name == 'redo'
    if verbs[name] and is_named then
      return restore(client, name --[[@as backstitch.Verb]], arguments)
    elseif name == 'fork' and arguments.rev then
      return M.fork(client, arguments)
    elseif name == 'tag' and arguments.rev then
      return M.tag(client, arguments)
    elseif name == 'pin' then
      return M.pin(client, arguments)
    elseif name == 'diff' and arguments.rev and arguments.uri and not arguments.rev2 then
      local buf = vim.uri_to_bufnr(arguments.uri)
      vim.fn.bufload(buf)
      return require('backstitch.review').start(buf, arguments.rev)
    elseif name == 'timeline' then
      local at = workspace(client, ctx.bufnr or 0)
      return require('backstitch.timeline').open(client, at, arguments.uri and { uri = arguments.uri } or {})
    elseif name == 'review' then
      return require('backstitch.unreviewed').open(client, workspace(client, ctx.bufnr or 0))
    end
    local result = server.execute(client, 'backstitch.' .. name, arguments)
    if name == 'checkpoint' and type(result) == 'table' and result.id then
      require('backstitch.notice').say(('backstitch: checkpoint %s'):format(result.id))
    end
  end)
end

return M
