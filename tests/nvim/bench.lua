-- nvim -l tests/nvim/bench.lua [BINARY] - what the plugin costs in a buffer of 10,000 lines with 300 changes, and at the
-- start, each beside a limit or a rival that is measured in the same run. BINARY: target/dist/backstitch, unless said.
local LINES, CHANGES, STARTS = 10000, 300, 21

local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
local root = vim.fs.dirname(vim.fs.dirname(here))

---@param times number[]
local function median(times)
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

---@param times number[]
local function p95(times)
  table.sort(times)
  return times[math.ceil(#times * 0.95)]
end

-- ---- inside the Neovim that is measured -------------------------------------------------------------------------------

---@param fn fun(i: integer)
---@param count integer
---@return number[] milliseconds
local function timed(count, fn)
  local times = {}
  for i = 1, count do
    local began = vim.uv.hrtime()
    fn(i)
    table.insert(times, (vim.uv.hrtime() - began) / 1e6)
  end
  return times
end

local function measure()
  local out = {}
  ---@param what string
  ---@param times number[]
  local function row(what, times)
    out[what] = { median(times), p95(times) }
  end
  local function wait(what, condition)
    assert(vim.wait(60000, condition, 5), what)
  end
  local function pages(what)
    vim.cmd('normal! gg')
    row(
      what,
      timed(100, function()
        vim.cmd('execute "normal! \\<C-f>"')
        vim.cmd('redraw!')
      end)
    )
  end
  local review = require('backstitch.review')
  wait('the server', function()
    local client = vim.lsp.get_clients({ name = 'backstitch', bufnr = 0 })[1]
    return client and client.initialized
  end)
  pages('redraw: a page, nothing marked')
  local began = vim.uv.hrtime()
  vim.cmd('Backstitch diff t1')
  wait('the changes', function()
    return review.of() and #review.of().hunks == CHANGES
  end)
  out['diff: from the command until all is marked'] = { (vim.uv.hrtime() - began) / 1e6 }
  pages('redraw: a page, changes marked')
  vim.cmd('normal! gg')
  row(
    'next: a change, with its redraw',
    timed(CHANGES, function()
      vim.cmd('Backstitch next')
      vim.cmd('redraw')
    end)
  )
  assert(vim.fn.line('.') > LINES - 2 * LINES / CHANGES, 'all of them were visited')
  -- a key, and the comparison after it
  vim.cmd('normal! 5000G')
  local tick
  row(
    'key: typed, with its redraw',
    timed(50, function()
      vim.api.nvim_buf_set_text(0, 4999, 0, 4999, 0, { 'x' })
      vim.cmd('redraw')
    end)
  )
  local again = {}
  for _ = 1, 10 do
    vim.api.nvim_buf_set_text(0, 4999, 0, 4999, 0, { 'x' })
    tick = vim.api.nvim_buf_get_changedtick(0)
    local since = vim.uv.hrtime()
    wait('compared anew', function()
      return review.of().tick == tick
    end)
    table.insert(again, (vim.uv.hrtime() - since) / 1e6)
  end
  row('diff: from a key until all is marked anew', again)
  review.stop()
  vim.cmd('silent undo 0')
  row(
    'key: typed, with its redraw, nothing marked',
    timed(50, function()
      vim.api.nvim_buf_set_text(0, 4999, 0, 4999, 0, { 'x' })
      vim.cmd('redraw')
    end)
  )
  vim.cmd('silent edit!')

  -- Neovim's own: the older text beside it, both with 'diff'
  vim.cmd('leftabove vertical diffsplit older.txt | wincmd p')
  vim.cmd('normal! zRgg')
  row(
    "next: a change in Neovim's own diff, with its redraw",
    timed(CHANGES, function()
      vim.cmd('normal! ]c')
      vim.cmd('redraw')
    end)
  )
  pages("redraw: a page in Neovim's own diff")
  local file = assert(io.open(vim.env.BACKSTITCH_MEASURED, 'w'))
  file:write(vim.json.encode(out))
  file:close()
  vim.cmd('qa!')
end

if vim.env.BACKSTITCH_MEASURED then
  vim.schedule(function()
    local ok, wrong = xpcall(measure, debug.traceback)
    if not ok then
      vim.fn.writefile(vim.split(wrong, '\n'), vim.env.BACKSTITCH_MEASURED .. '.wrong')
      vim.cmd('cquit!')
    end
  end)
  return
end

-- ---- outside ----------------------------------------------------------------------------------------------------------

local binary = vim.fs.abspath(_G.arg[1] or vim.fs.joinpath(root, 'target/dist/backstitch'))
assert(vim.fn.executable(binary) == 1, binary .. ' is not there: cargo build --profile dist, or name another')
local place = assert(vim.uv.fs_mkdtemp(vim.fs.joinpath(vim.uv.os_tmpdir(), 'backstitch-bench-XXXXXX')))
local work = vim.fs.joinpath(place, 'work')
local env = { PATH = vim.fs.dirname(binary) .. ':' .. vim.env.PATH, HOME = place }
for _, kind in ipairs({ 'STATE', 'CONFIG', 'DATA', 'CACHE' }) do
  env[('XDG_%s_HOME'):format(kind)] = vim.fs.joinpath(place, kind:lower())
end
vim.fn.mkdir(work)

---@param command string[]
---@param stdin? string
local function run(command, stdin)
  local done = vim.system(command, { cwd = work, env = env, stdin = stdin, text = true }):wait(60000)
  assert(done.code == 0, table.concat(command, ' ') .. ': ' .. (done.stderr or ''))
end

---@param name string
---@param lines string[]
local function write(name, lines)
  vim.fn.writefile(lines, vim.fs.joinpath(work, name))
end

-- one turn of an agent that rewrites a large file: some lines changed, some more, some gone
local older, newer = {}, {}
for i = 1, LINES do
  local line = ('local value_%d = compute(%d, "of some length", %d)'):format(i, i * 7, i % 13)
  table.insert(older, line)
  local step = LINES / CHANGES
  local kind = i % math.floor(step) == 0 and math.floor(i / math.floor(step)) <= CHANGES and (i / math.floor(step)) % 3
  if kind == 0 then
    table.insert(newer, (line:gsub('compute', 'look_up')))
  elseif kind == 1 then
    vim.list_extend(newer, { line, '-- added', '-- and more' })
  elseif not kind then
    table.insert(newer, line)
  end
end
write('large.txt', older)
write('older.txt', older)
run({ 'git', 'init', '-q' })
run({ 'git', 'add', '-A' })
run({ 'git', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'all' })
local function hook(event, more)
  local said = vim.tbl_extend('force', {
    session_id = '5f0e',
    transcript_path = vim.fs.joinpath(place, 't.jsonl'),
    cwd = work,
    hook_event_name = event,
  }, more or {})
  run({ binary, 'hook', 'claude-code' }, vim.json.encode(said))
end
local tool = {
  tool_name = 'Write',
  tool_use_id = 'w1',
  tool_input = { file_path = vim.fs.joinpath(work, 'large.txt'), content = table.concat(newer, '\n') .. '\n' },
}
hook('UserPromptSubmit', { prompt = 'look it up' })
hook('PreToolUse', tool)
write('large.txt', newer)
hook('PostToolUse', vim.tbl_extend('force', tool, { tool_response = vim.empty_dict() }))
hook('Stop')

local plugin = 'set rtp^=' .. vim.fs.joinpath(root, 'nvim-plugin')

---@param args string[]
---@param more table<string, string>
local function in_terminal(args, more)
  local job = vim.fn.jobstart(vim.list_extend({ vim.v.progpath, '-n', '-i', 'NONE' }, args), {
    cwd = work,
    env = vim.tbl_extend('force', env, more),
    pty = true,
    width = 120,
    height = 50,
  })
  local code = vim.fn.jobwait({ job }, 240000)[1]
  assert(
    code == 0,
    'Neovim ended with '
      .. code
      .. '\n'
      .. table.concat(
        vim.fn.filereadable((more.BACKSTITCH_MEASURED or '') .. '.wrong') == 1
            and vim.fn.readfile(more.BACKSTITCH_MEASURED .. '.wrong')
          or {},
        '\n'
      )
  )
end

local measured = vim.fs.joinpath(place, 'measured.json')
local off = "let g:backstitch = { 'codelens': v:false }"
in_terminal({
  '--cmd',
  plugin,
  '--cmd',
  off,
  'large.txt',
  '-c',
  'autocmd VimEnter * luafile ' .. vim.fs.joinpath(here, 'bench.lua'),
}, { BACKSTITCH_MEASURED = measured })
local got = vim.json.decode(table.concat(vim.fn.readfile(measured)))

-- time of the plugin's files in Neovim's own startup log, without the files that they load
local starts, begins, bares = {}, {}, {}
-- time after the first screen, and its minimum: the same server, started for the same buffer
local begin =
  [[local began = vim.uv.hrtime() %s vim.fn.writefile({ tostring((vim.uv.hrtime() - began) / 1e6) }, '%s') vim.cmd('qa!')]]
local bare =
  [[vim.lsp.config('bare', { cmd = { 'backstitch', 'lsp' }, root_dir = vim.uv.cwd() }) vim.lsp.enable('bare')]]
for i = 1, STARTS do
  local log, out = vim.fs.joinpath(place, 'start-' .. i), vim.fs.joinpath(place, 'begin')
  in_terminal({ '--cmd', plugin, '--startuptime', log, 'large.txt', '-c', 'autocmd VimEnter * qa!' }, {})
  local sum = 0
  for _, line in ipairs(vim.fn.readfile(log)) do
    -- clock, self and sourced, self: what
    local self = line:match('^%S+%s+%S+%s+(%S+): .*backstitch') or line:match('^%S+%s+(%S+): .*backstitch')
    sum = sum + (self and not line:find('large.txt', 1, true) and tonumber(self) or 0)
  end
  assert(sum > 0, 'the plugin is not in the account of the start')
  table.insert(starts, sum)
  for _, each in ipairs({ { begins, plugin, [[require('backstitch').start()]] }, { bares, 'let g:bare = 1', bare } }) do
    local file = vim.fs.joinpath(place, 'begin.lua')
    vim.fn.writefile({ begin:format(each[3], out) }, file)
    in_terminal({ '--cmd', each[2], 'large.txt', '-c', ('autocmd VimEnter * luafile %s'):format(file) }, {})
    table.insert(each[1], assert(tonumber(vim.fn.readfile(out)[1])))
  end
end
vim.fs.rm(place, { recursive = true, force = true })

local out = {}
---@param what string
---@param ms number
---@param against number
---@param name string
local function row(what, ms, against, name)
  table.insert(out, ('%-52s %8.2f ms %8.2f  %s'):format(what, ms, ms / against, name))
end
local function of(what)
  return got[what][1]
end
table.insert(out, ('%-52s %11s %8s'):format('median of each', 'time', 'ratio'))
row('start: until the first screen', median(starts), 2, 'of 2 ms, the limit')
row('start: what follows it', median(begins), median(bares), 'of starting the server alone')
row(
  'redraw: a page, changes marked',
  of('redraw: a page, changes marked'),
  of('redraw: a page, nothing marked'),
  'of the same, nothing marked'
)
row('  beside', of('redraw: a page, changes marked'), of("redraw: a page in Neovim's own diff"), "of Neovim's own diff")
row('  its 95th percentile', got['redraw: a page, changes marked'][2], 16.7, 'of a frame, 16.7 ms')
row(
  'next: a change, with its redraw',
  of('next: a change, with its redraw'),
  of("next: a change in Neovim's own diff, with its redraw"),
  "of Neovim's own diff"
)
row('  its 95th percentile', got['next: a change, with its redraw'][2], 16.7, 'of a frame')
row(
  'key: typed, with its redraw',
  of('key: typed, with its redraw'),
  of('key: typed, with its redraw, nothing marked'),
  'of the same, nothing marked'
)
row('  its 95th percentile', got['key: typed, with its redraw'][2], 16.7, 'of a frame')
row('diff: from the command until all is marked', of('diff: from the command until all is marked'), 100, 'of 100 ms')
row(
  'diff: from a key until all is marked anew',
  of('diff: from a key until all is marked anew'),
  100,
  'of 100 ms, 80 of which it waits for more keys'
)
print(table.concat(out, '\n'))
