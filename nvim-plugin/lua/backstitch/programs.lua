--- Paused programs: the call stack with its source, the line that is paused in its buffer, and the calls of programs.
local float = require('backstitch.float')
local outside = require('backstitch.outside')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.programs')
--- For the lines that are paused.
local marks = vim.api.nvim_create_namespace('backstitch.held')
--- Height of a list in lines.
local HEIGHT = 12

--- Places that are paused, by pause and workspace.
---@type table<string, { path: string, line: integer }>
local held = {}

---@param pause backstitch.Pause
---@return string
local function key(pause)
  return pause.id .. ' ' .. words.shown(pause.root)
end

--- Marks the lines of a buffer that are paused.
---@param buf integer
local function mark(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, marks, 0, -1)
  local name = vim.api.nvim_buf_get_name(buf)
  local path = vim.uv.fs_realpath(name) or name
  for _, place in pairs(held) do
    if place.path == path and place.line <= vim.api.nvim_buf_line_count(buf) then
      vim.api.nvim_buf_set_extmark(buf, marks, place.line - 1, 0, {
        line_hl_group = 'BackstitchHeld',
        sign_text = '▶',
        sign_hl_group = 'BackstitchWarning',
      })
    end
  end
end

local function mark_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    mark(buf)
  end
end

---@param client vim.lsp.Client
---@param pause backstitch.Pause
local function note(client, pause)
  if pause.by ~= 'program' then
    return
  end
  task.run(function()
    local about = { pause = pause.id, workspace = words.shown(pause.root) }
    ---@type backstitch.StackResult
    local found = server.request(client, 'backstitch/stack', about)
    local top = found.frames[1]
    if top then
      held[key(pause)] = { path = vim.uv.fs_realpath(top.path) or top.path, line = top.line }
      mark_all()
    end
  end, function() end) -- it was over meanwhile
end

--- Shows lines in a window below, folded by their indentation: a line without any begins a fold.
---@param name string
---@param about string Name of the window for people.
---@param title string
---@param lines backstitch.Chunk[][]
---@param act fun(row: integer)
local function list(name, about, title, lines, act)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'backstitch-list'
  float.write(buf, namespace, lines)
  -- one window for all lists of a tab page
  local window = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(each)
    return vim.bo[vim.api.nvim_win_get_buf(each)].filetype == 'backstitch-list'
  end)
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd(('botright %dsplit'):format(HEIGHT))
  end
  vim.api.nvim_win_set_buf(0, buf)
  local there = vim.fn.bufnr(('^%s$'):format(vim.fn.escape(name, '\\[]*?{}')))
  if there > 0 then
    vim.api.nvim_buf_delete(there, { force = true })
  end
  vim.api.nvim_buf_set_name(buf, name)
  vim.wo.cursorline, vim.wo.wrap, vim.wo.number = true, false, false
  vim.wo.foldmethod, vim.wo.foldlevel = 'expr', 0
  vim.wo.foldexpr = [[getline(v:lnum) =~ '^\s' ? 1 : '>1']]
  vim.wo.foldtext = 'getline(v:foldstart)'
  -- a fold is a row without its lines, not a bar of dots
  vim.opt_local.fillchars:append({ fold = ' ' })
  vim.wo.winbar = outside.status(title)
  outside.name_window(0, about)
  vim.keymap.set('n', '<CR>', function()
    act(vim.api.nvim_win_get_cursor(0)[1])
  end, { buffer = buf, desc = 'Show it' })
  vim.keymap.set('n', '<Tab>', 'za', { buffer = buf, desc = 'Fold or unfold' })
  vim.keymap.set('n', 'q', '<C-W>c', { buffer = buf, nowait = true, desc = 'Close' })
end

---@param path string
---@param line integer
local function go(path, line)
  local windows = vim.api.nvim_tabpage_list_wins(0)
  table.insert(windows, 1, vim.fn.win_getid(vim.fn.winnr('#')))
  -- the window before, else any with a file
  local window = vim.iter(windows):find(function(each)
    local is_file = each ~= 0 and vim.bo[vim.api.nvim_win_get_buf(each)].buftype == ''
    return is_file and vim.api.nvim_win_get_config(each).relative == '' and not vim.wo[each].winfixbuf
  end)
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('topleft new')
  end
  outside.edit(path)
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd.normal({ '^', bang = true })
end

--- Maximum number of sessions that a stack lists.
local MAX_SESSIONS = 10

--- Lists the frames of a program at a pause, each with the lines around it, then its REPL sessions and its call.
---@async
---@param client vim.lsp.Client
---@param about { pause: string, workspace: string }
---@param pause? backstitch.Pause Nil once it is over.
function M.stack(client, about, pause)
  ---@type backstitch.StackResult
  local found = server.request(client, 'backstitch/stack', about)
  if #found.frames == 0 then
    task.fail({
      message = ('%s is not a pause of a program'):format(about.pause),
      hint = ':Backstitch pauses shows its files',
    })
  end
  local lines, acts = {}, {} ---@type backstitch.Chunk[][], function[]
  for _, frame in ipairs(found.frames) do
    local path = vim.fn.fnamemodify(frame.path, ':.')
    local is_held = frame.held and pause ~= nil
    table.insert(lines, {
      { is_held and '▶ ' or '· ', is_held and 'BackstitchWarning' or 'BackstitchDim' },
      { words.line(frame.name), 'BackstitchTool' },
      { ('  %s:%d'):format(words.line(path), frame.line), 'BackstitchDim' },
    })
    table.insert(acts, function()
      go(frame.path, frame.line)
    end)
    for i, text in ipairs(frame.context) do
      local number = frame.first + i - 1
      local is_here = number == frame.line
      table.insert(lines, {
        { ('  %s%5d  '):format(is_here and '>' or ' ', number), is_here and 'BackstitchWarning' or 'BackstitchDim' },
        { words.visible(text), is_here and 'BackstitchHeld' or nil },
      })
      table.insert(acts, function()
        go(frame.path, number)
      end)
    end
  end
  local name = ''
  for i, session in ipairs(found.sessions) do
    name = i == 1 and words.line(session['function']) or name
    if i > MAX_SESSIONS then
      table.insert(lines, { { ('%d older REPL sessions'):format(#found.sessions - MAX_SESSIONS), 'BackstitchDim' } })
      table.insert(acts, function()
        require('backstitch.repl').list(client)
      end)
      break
    end
    table.insert(lines, {
      { 'REPL ' .. session.id, 'BackstitchTurn' },
      { ('  %s, %s'):format(words.count(session.entries, 'line'), session.status), 'BackstitchDim' },
    })
    table.insert(acts, function()
      require('backstitch.repl').show(client, session.id)
    end)
  end
  local call = words.given(found.call)
  if call then
    table.insert(lines, { { ('call %d'):format(call), 'BackstitchTurn' } })
    table.insert(acts, function()
      M.calls(client, call)
    end)
  end
  local of = pause and words.line(pause.summary) or vim.trim(name .. ', which is over')
  local title = (' Stack of %s %s   <CR> source  <Tab> lines  q close'):format(about.pause, of)
  list('backstitch-stack://' .. about.pause, 'Stack', title, lines, function(row)
    if acts[row] then
      task.run(acts[row])
    end
  end)
  if found.frames[1].context[1] then
    vim.cmd('silent! 1foldopen')
  end
end

--- The arguments of a call, or its result, as its program described it.
---@param view any
---@return string
local function repr(view)
  local text = type(view) == 'table' and view.repr or view
  return type(text) == 'string' and words.line(text) or ''
end

---@param args any
---@return string
local function arguments(args)
  if type(args) ~= 'table' then
    return ''
  end
  local names = vim.tbl_keys(args)
  table.sort(names)
  local parts = {}
  for _, name in ipairs(names) do
    local text = repr(args[name])
    table.insert(parts, name:match('^%d+$') and text or words.line(name) .. '=' .. text)
  end
  return table.concat(parts, ', ')
end

--- Lists programs with the calls that they watch, as a tree.
---@async
---@param client vim.lsp.Client
---@param wanted? integer Number of the call at which the cursor is.
function M.calls(client, wanted)
  local about = { workspace = server.root_of(client) }
  ---@type backstitch.CallsResult
  local found = server.request(client, 'backstitch/calls', about)
  if #found.programs == 0 then
    task.fail({ message = 'no program has connected', hint = 'server/docs/repl.md: `import backstitch_debug`' })
  end
  local lines, sessions = {}, {} ---@type backstitch.Chunk[][], table<integer, string[]>
  local place ---@type integer?
  for _, program in ipairs(found.programs) do
    local is_over = words.given(program.ended) ~= nil
    table.insert(lines, {
      { is_over and '· ' or '▶ ', is_over and 'BackstitchDim' or 'BackstitchWarning' },
      { words.line(table.concat(program.argv, ' ')), 'BackstitchTurn' },
      { ('  %s %d%s'):format(program.language, program.pid, is_over and ' ended' or ''), 'BackstitchDim' },
    })
    local depth = {} ---@type table<integer, integer>
    local inner = { [0] = {} } ---@type table<integer, backstitch.FunctionCall[]>
    for _, call in ipairs(program.calls) do
      local parent = words.given(call.parent)
      local at = parent and depth[parent] and parent or 0
      depth[call.id] = (depth[at] or 0) + 1
      inner[at] = inner[at] or {}
      table.insert(inner[at], call)
    end
    local function add(at)
      for _, call in ipairs(inner[at] or {}) do
        local outcome = words.line(words.given(call.outcome) or 'not over')
        local result = outcome == 'returned' and ' ' .. repr(call.result) or ''
        table.insert(lines, {
          { ('  '):rep(depth[call.id]) },
          { words.line(call['function']), 'BackstitchTool' },
          { ('(%s)'):format(arguments(call.args)) },
          { ('  %s%s'):format(outcome, result), 'BackstitchDim' },
          { #call.replSessions > 0 and '  REPL ' .. table.concat(call.replSessions, ', ') or '', 'BackstitchWarning' },
        })
        sessions[#lines] = call.replSessions
        place = call.id == wanted and #lines or place
        add(call.id)
      end
    end
    add(0)
  end
  list(
    'backstitch-calls://',
    'Calls of programs',
    ' Calls of programs   <CR> REPL session  <Tab> fold  q close',
    lines,
    function(row)
      local ids = sessions[row] or {}
      if #ids == 0 then
        return require('backstitch.notice').say('backstitch: no REPL session there')
      end
      task.run(function()
        local id = #ids == 1 and ids[1] or task.select(ids, { prompt = 'Which session?' })
        require('backstitch.repl').show(client, id)
      end)
    end
  )
  vim.cmd('silent! %foldopen!')
  if place then
    vim.api.nvim_win_set_cursor(0, { place, 0 })
  end
end

--- Shows a stored value. `s` writes its bytes to a file.
---@async
---@param client vim.lsp.Client
---@param cid string
function M.value(client, cid)
  local about = { cid = cid, workspace = server.root_of(client) }
  ---@type backstitch.ObjectResult
  local found = server.request(client, 'backstitch/repl/object', about)
  local lines = vim.tbl_map(function(line)
    return { { line } }
  end, vim.split(vim.trim(found.text), '\n', { plain = true }))
  float.open({
    title = 'Value',
    footer = 's save its bytes  q close',
    lines = lines,
    keys = {
      s = function()
        task.run(function()
          local path = task.await(function(back)
            vim.ui.input({ prompt = 'Save the bytes to: ', completion = 'file' }, vim.schedule_wrap(back))
          end)
          if not path or path == '' then
            error(task.CALLED_OFF, 0)
          end
          about.save = vim.fs.abspath(vim.fs.normalize(path))
          server.request(client, 'backstitch/repl/object', about)
          local say = 'backstitch: wrote %d bytes. Nobody has read them: unpickling runs code'
          require('backstitch.notice').say(say:format(found.size))
        end)
      end,
    },
  })
end

function M.enable()
  server.on('backstitch/didPause', function(params, client)
    note(client, params.pause)
  end)
  server.on('backstitch/didResume', function(params)
    held[key(params.pause)] = nil
    mark_all()
  end)
  server.on('attached', function(_, client)
    task.run(function()
      ---@type backstitch.PausesResult
      local found = server.request(client, 'backstitch/pauses', { workspace = server.root_of(client) })
      for _, pause in ipairs(found.pauses) do
        note(client, pause)
      end
    end, function() end) -- a workspace without a history has none
  end)
  vim.api.nvim_create_autocmd('BufReadPost', {
    group = vim.api.nvim_create_augroup('backstitch.programs', {}),
    callback = function(event)
      mark(event.buf)
    end,
  })
end

return M
