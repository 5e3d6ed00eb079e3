-- Generates doc/backstitch.txt and its tags from the code: `nvim -l doc/generate.lua`. With `--check` it only compares the
-- file with the generated text, and exits with 1 if they differ.
local here = vim.fs.dirname(vim.fs.abspath(assert(debug.getinfo(1, 'S')).source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))

local commands = require('backstitch.commands')
local config = require('backstitch.config')
local highlights = require('backstitch.highlights')

local WIDTH = 78
local out = {}

local function add(text)
  table.insert(out, text or '')
end

--- Wraps a paragraph at the width.
local function fill(text, indent)
  indent = indent or ''
  local line = indent
  for word in text:gmatch('%S+') do
    if #line + #word + 1 > WIDTH and vim.trim(line) ~= '' then
      add(line)
      line = indent
    end
    line = line .. (vim.trim(line) == '' and '' or ' ') .. word
  end
  if vim.trim(line) ~= '' then
    add(line)
  end
end

local function section(title, tag)
  add(('='):rep(WIDTH))
  local right = ('*%s*'):format(tag)
  add(title .. (' '):rep(math.max(1, WIDTH - #title - #right)) .. right)
  add()
end

local function tagged(left, tag)
  local right = ('*%s*'):format(tag)
  if #left + #right + 1 > WIDTH then
    add((' '):rep(WIDTH - #right) .. right)
    add(left)
  else
    add(left .. (' '):rep(WIDTH - #left - #right) .. right)
  end
end

--- Removes the backquotes of Markdown.
local function help(text)
  return (text:gsub('`', ''))
end

local function template(name)
  for line in io.lines(vim.fs.joinpath(here, 'parts', name)) do
    add(line)
  end
end

template('head.part')

section('COMMANDS', 'backstitch-commands')
tagged(':Backstitch', ':Backstitch')
fill(
  'Opens the timeline, or runs one of the following. <Tab> completes all arguments. A {rev} is a turn (`t4`, the state'
    .. ' before it), a step (`c12`) or another checkpoint (the state after it; `c12^` the state before), a branch, a tag, or'
    .. ' `@` for the newest; `@turn` is the state before the last turn whose work is in force. An error is one line, with the next step.',
  '    '
)
add()
for _, subcommand in ipairs(commands.SUBCOMMANDS) do
  tagged(vim.trim((':Backstitch %s %s'):format(subcommand.name, subcommand.usage)), ':Backstitch-' .. subcommand.name)
  fill(help(subcommand.desc), '    ')
  add()
end

template('mappings.part')

section('TIMELINE', 'backstitch-timeline')
template('timeline.part')
for _, each in ipairs(config.TIMELINE_KEYS) do
  add(('    %-8s %-12s'):format(each.key, each.name))
  fill(help(each.desc), '             ')
end
add()

template('diff.part')

template('review.part')
for _, each in ipairs(require('backstitch.panel').KEYS) do
  add(('    %-8s %s'):format(each.key, each.desc))
end
add()
fill('Keys in its files, while its tab page is the current one:')
add()
for _, each in ipairs(require('backstitch.review.file_keys').KEYS) do
  add(('    %-8s %s'):format(each.key, each.desc))
end
add()

section('HELD CALLS', 'backstitch-pauses')
fill(
  'An agent stops at a breakpoint before it calls a tool: nothing has happened yet. A message reports it, after Insert mode if'
    .. ' you type, and again while nobody looks at it. The line that would change first has a sign and the words `is held`.'
    .. ' `require("backstitch").statusline()` has `⏸ 1`, in a status line that shows it.'
)
add()
fill(
  '|:Backstitch-pauses| shows the list, with each file of the call that is shown, its files as they are now, and, on the'
    .. ' right, as they would be. <CR> shows the files of another call, or this file. Edit the right side: the call then runs'
    .. ' with your text, whichever key lets it run. |:w| only checks it, for all editors and terminals that show the call.'
    .. ' Nothing is decided by a write, or by closing a window. Text that is not written goes with your decision also after its'
    .. ' windows, the tab page or the list are closed. After a decision the next held call is shown in the same windows, and'
    .. ' the cursor stays. A call whose time ran out stays in the list until the agent has tried it again.'
    .. ' In a window that can be edited the keys begin with <LocalLeader>, except those of debuggers: <F5>, <F10>, <F11> and'
    .. ' <S-F11> are the same in the list, in both sides of a file and in the REPL of a call.'
)
add()
local held_keys = require('backstitch.pauses').keys
for _, each in ipairs(vim.list_extend(vim.deepcopy(held_keys.KEYS), held_keys.LIST_KEYS)) do
  add(('    %-8s %s'):format(each.key, held_keys.described(each)))
end
add()
fill('|:Backstitch-breakpoint| stops agents at lines, which have a sign. The lines follow every change of the text.')
add()

template('jobs.part')

section('OPTIONS', 'backstitch-options')
fill(
  'All are optional. Set them in `vim.g.backstitch` before the plugin is loaded, or with'
    .. ' `require("backstitch").setup{}` at any time; others keep the defaults listed here. An unknown option or a wrong'
    .. ' value is reported, and the default holds.'
)
add()
add('>lua')
add('    vim.g.backstitch = {')
add("      cmd = { '/opt/backstitch/bin/backstitch', 'lsp' },")
add("      timeline = { position = 'left', keys = { close = '<Esc>' } },")
add('    }')
add('<')
for _, option in ipairs(config.OPTIONS) do
  tagged(option.key, 'backstitch-option-' .. option.key)
  local choices = type(option.type) == 'table' and vim.tbl_map(tostring, option.type --[[@as table]])
  local kind = choices and table.concat(choices, ', ') or option.type
  local default = option.key == 'timeline.keys' and 'see there'
    or vim.inspect(option.default, { newline = ' ', indent = '' })
  add(('    %s, default %s'):format(kind, default))
  fill(help(option.desc), '    ')
  add()
end

section('HIGHLIGHTS', 'backstitch-highlights')
fill('All are links and can be overridden.')
add()
for _, group in ipairs(highlights.GROUPS) do
  tagged(group.name, 'hl-' .. group.name)
  fill(
    ('%s Links to |hl-%s|.'):format(group.desc, group.link):gsub('|hl%-(%u%l+)|', function(name)
      return vim.list_contains({ 'Added', 'Changed', 'Removed' }, name) and name or ('|hl-%s|'):format(name)
    end),
    '    '
  )
end
add()

template('api.part')
add(('vim:tw=%d:ts=8:noet:ft=help:norl:'):format(WIDTH))

local text = table.concat(out, '\n') .. '\n'
local path = vim.fs.joinpath(here, 'backstitch.txt')
if vim.list_contains(vim.v.argv, '--check') or vim.list_contains(_G.arg or {}, '--check') then
  local file = io.open(path, 'r')
  local known = file and file:read('*a')
  if known ~= text then
    io.stderr:write('doc/backstitch.txt is out of date: nvim -l doc/generate.lua\n')
    os.exit(1)
  end
else
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
  vim.cmd.helptags(here)
end
