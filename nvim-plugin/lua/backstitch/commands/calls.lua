--- Subcommands of `:Backstitch` on calls of agents: breakpoints, held calls and REPLs.
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@return string[]
local function kind_names()
  return vim.tbl_map(function(kind)
    return kind.name
  end, require('backstitch.kinds'))
end

---@type backstitch.Subcommand[]
M.SUBCOMMANDS = {
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
      .. ' value, `S` the call stack, `C` the calls. <F5>, <F10>, <F11> and <S-F11> decide on its held call. `list` shows earlier sessions; `status:active`, `status:closed`,'
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

return M
