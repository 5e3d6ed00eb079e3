--- The language server: how it is started, that it comes back when it dies, what is asked of it and what it tells.
local config = require('backstitch.config')
local task = require('backstitch.task')

local M = {}

--- The oldest server that this plugin understands.
M.NEEDS = '0.1.0'
local NAME = 'backstitch'
local ROOTS = { '.backstitch.toml', '.git', '.jj', '.hg' }
--- A server that died so often within so many seconds is left alone.
local TRIES, WITHIN = 5, 180
--- Milliseconds until it is started again, at first; then twice as many each time.
local FIRST_PAUSE = 250
--- Milliseconds within which a server has to be there.
local START = 10000
--- And to end when it is told to.
local STOP = 3000

---@alias backstitch.Heard fun(params: table, client: vim.lsp.Client)
---@type table<string, backstitch.Heard[]>
local heard = {}
--- When servers died, in seconds.
---@type number[]
local deaths = {}
--- Whether the user was told that there is no binary.
local is_missing_told = false
--- Why no server is started unless the user says so: it is too old, or dies.
---@type string?
local left_alone
---@alias backstitch.Waiting table<function, true?>
--- Who waits for an answer, of each server.
---@type table<integer, backstitch.Waiting>
local pending = {}
--- Buffers in which lenses were switched on here.
---@type table<integer, true>
local has_lenses = {}
--- Which server has a workspace, where that is not the directory that it was started for.
---@type table<string, integer>
local serving = {}
--- Servers whose end somebody wanted.
---@type table<integer, true>
local leaving = {}

---@param text string
---@param level? integer
local function say(text, level)
  vim.notify('backstitch: ' .. text, level or vim.log.levels.ERROR)
end

--- Hears of one kind of what servers tell, and of `attached` and `gone`, which tell of the servers themselves.
---@param method string
---@param fn backstitch.Heard
function M.on(method, fn)
  heard[method] = heard[method] or {}
  table.insert(heard[method], fn)
end

---@param method string
---@param params table
---@param client vim.lsp.Client
local function tell(method, params, client)
  for _, fn in ipairs(heard[method] or {}) do
    fn(params, client)
  end
end

--- What the server is started by: also what somebody else has set for it.
---@return string
function M.program()
  ---@diagnostic disable-next-line: undefined-field
  local known = vim.lsp.config[NAME] --[[@as vim.lsp.Config?]]
  local cmd = known and known.cmd
  return type(cmd) == 'table' and cmd[1] or config.get().cmd[1] or ''
end

---@return string? path
function M.binary()
  local path = vim.fn.exepath(M.program())
  return path ~= '' and path or nil
end

--- The servers, also those that are just starting.
---@param buf? integer Only those of this buffer.
---@return vim.lsp.Client[]
local function clients(buf)
  return vim.lsp.get_clients({ name = NAME, bufnr = buf, _uninitialized = true })
end

--- Whether there is a binary. Where there is none, that is said once.
---@return boolean
local function has_binary()
  if M.binary() then
    is_missing_told = false
    return not left_alone
  end
  if not is_missing_told then
    is_missing_told = true
    say(
      ("'%s' is no program that can be started. Install it (cargo install backstitch), or set cmd: :help backstitch-options"):format(
        M.program()
      )
    )
  end
  return false
end

---@param buf integer
---@return string? path of a file that a buffer is
local function file_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' or name:match('^%a[%w+.-]+://') then
    return nil
  end
  return name
end

---@param from integer|string a buffer or a path
---@return string?
function M.root(from)
  return vim.fs.root(from, ROOTS)
end

---@return vim.lsp.Config
function M.config()
  local own = config.get()
  local client_options = vim.tbl_extend('force', {
    reloadsFromDisk = own.reload,
    contentProvider = true,
    notifications = true,
  }, { store = own.settings.store })
  local handlers = {}
  for _, method in ipairs({ 'didCheckpoint', 'didRewind', 'timelineChanged', 'status' }) do
    handlers['backstitch/' .. method] = function(_, params, ctx)
      local client = vim.lsp.get_client_by_id(ctx.client_id)
      if client then
        tell('backstitch/' .. method, params, client)
      end
    end
  end
  handlers['window/showDocument'] = function(err, params, ctx)
    if vim.startswith(params.uri, 'backstitch://') then
      require('backstitch.documents').show(params.uri, ctx.client_id)
      return { success = true }
    end
    return vim.lsp.handlers['window/showDocument'](err, params, ctx)
  end
  local commands = {}
  for _, name in ipairs({
    'rewind',
    'revert',
    'undo',
    'redo',
    'switch',
    'fork',
    'tag',
    'pin',
    'checkpoint',
    'diff',
    'timeline',
  }) do
    commands['backstitch.' .. name] = function(command, ctx)
      local arguments = command.arguments and command.arguments[1] or {}
      require('backstitch.commands').from_server(name, arguments, ctx)
    end
  end
  ---@type vim.lsp.Config
  return {
    name = NAME,
    cmd = own.cmd,
    root_dir = function(buf, start)
      if file_of(buf) and has_binary() then
        start(M.root(buf))
      end
    end,
    init_options = { backstitch = client_options },
    settings = { backstitch = own.settings } --[[@as lsp.LSPObject]],
    handlers = handlers,
    commands = commands,
    on_init = function(client)
      M.greet(client)
    end,
    on_exit = function(code, signal, id)
      vim.schedule(function()
        M.died(code, signal, id)
      end)
    end,
  }
end

--- Has servers that are started from now on know what the user said.
function M.configure()
  ---@diagnostic disable-next-line: undefined-field
  local known = vim.lsp.config[NAME] --[[@as table]]
  local own = M.config()
  -- in place of what was said before, which would be merged with it
  local changed = { cmd = own.cmd, init_options = own.init_options, settings = own.settings }
  ---@diagnostic disable-next-line: assign-type-mismatch, inject-field
  vim.lsp.config[NAME] = vim.tbl_extend('force', known, changed)
end

--- A server is there.
---@param client vim.lsp.Client
function M.greet(client)
  local version = vim.tbl_get(client, 'server_info', 'version')
  local is_old = not version or vim.version.lt(version, M.NEEDS)
  if is_old then
    leaving[client.id] = true
    -- it is just being told that it may begin
    vim.schedule(function()
      client:stop(true)
    end)
    left_alone = ('%s is version %s; this plugin needs %s or newer'):format(
      M.binary() or M.program(),
      version or 'unknown',
      M.NEEDS
    )
    say(left_alone .. '. Install it anew: cargo install backstitch')
    return
  end
  tell('attached', {}, client)
end

--- Whether the user has left it enabled; 0.11 cannot tell.
local function is_enabled()
  return not vim.lsp.is_enabled or vim.lsp.is_enabled(NAME)
end

--- What is known of the server by now, for a directory.
---@param root? string
---@return vim.lsp.ClientConfig
local function rooted(root)
  ---@diagnostic disable-next-line: undefined-field
  local known = vim.lsp.config[NAME] --[[@as vim.lsp.Config]]
  local own = vim.tbl_extend('force', {}, known)
  -- also where there is none: what stands there is how `vim.lsp.enable` finds it
  own.root_dir = root
  return own --[[@as vim.lsp.ClientConfig]]
end

---@param buf integer
---@return vim.lsp.Client?
function M.attach(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or not file_of(buf) or not has_binary() then
    return nil
  end
  local known = clients(buf)[1]
  if known then
    return known
  end
  local id = vim.lsp.start(rooted(M.root(buf)), { bufnr = buf, silent = true })
  return id and vim.lsp.get_client_by_id(id)
end

--- Starts servers for what is open, and those of these directories, for which nothing has to be.
---@param roots string[]
local function attach_all(roots)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
  for _, root in ipairs(roots) do
    if has_binary() then
      vim.lsp.start(rooted(root), { attach = false, silent = true })
    end
  end
end

--- The directories of servers that have no buffer.
---@param all vim.lsp.Client[]
---@return string[]
local function bare(all)
  local roots = {}
  for _, client in ipairs(all) do
    if client.root_dir and not next(client.attached_buffers) then
      table.insert(roots, client.root_dir)
    end
  end
  return roots
end

--- A server has ended. One that nobody told to comes back, later each time.
---@param code integer
---@param signal integer
---@param id integer
function M.died(code, signal, id)
  local client = vim.lsp.get_client_by_id(id)
  local roots = bare({ client })
  if client then
    tell('gone', {}, client)
  end
  for root, server in pairs(serving) do
    serving[root] = server ~= id and server or nil
  end
  -- one that has died answers no more
  for once in pairs(pending[id] or {}) do
    once({ message = 'the server has died', data = { hint = 'It is started anew; try again' } })
  end
  pending[id] = nil
  local is_wanted = leaving[id] or vim.v.exiting ~= vim.NIL or not is_enabled()
  leaving[id] = nil
  -- SIGTERM is how Neovim ends one that it is told to stop
  if is_wanted or (code == 0 and (signal == 0 or signal == 15)) then
    return
  end
  local now = vim.uv.now() / 1000
  deaths = vim.tbl_filter(function(when)
    return now - when < WITHIN
  end, deaths)
  table.insert(deaths, now)
  if #deaths > TRIES then
    left_alone = ('the server has died %d times within %d minutes and is left alone'):format(#deaths, WITHIN / 60)
    say(left_alone .. '. :Backstitch restart starts it; :checkhealth backstitch says more')
    return
  end
  vim.defer_fn(function()
    attach_all(roots)
  end, math.floor(FIRST_PAUSE * 2 ^ (#deaths - 1)))
end

--- Lets `vim.lsp` start a server with each file. A file of no known type has no event of its own there.
function M.enable()
  vim.lsp.enable(NAME)
  local group = vim.api.nvim_create_augroup('backstitch.server', {})
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost' }, {
    group = group,
    callback = function(event)
      if is_enabled() then
        vim.schedule(function()
          M.attach(event.buf)
        end)
      end
    end,
  })
  -- 0.12 draws them by itself once it is told to; 0.11 only when it is asked to
  local follows = vim.lsp.codelens.enable ~= nil
  vim.api.nvim_create_autocmd(follows and 'LspAttach' or { 'LspAttach', 'BufEnter', 'InsertLeave' }, {
    group = group,
    callback = function(event)
      local buf, on = event.buf, config.get().codelens
      if #vim.lsp.get_clients({ name = NAME, bufnr = buf }) == 0 then
        return
      end
      if follows and (on or has_lenses[buf]) then
        -- of a server alone it would count for no buffer
        vim.lsp.codelens.enable(on, { bufnr = buf })
        has_lenses[buf] = on or nil
      elseif not follows and on then
        ---@diagnostic disable-next-line: deprecated
        vim.lsp.codelens.refresh({ bufnr = buf })
      end
    end,
  })
  attach_all({})
end

--- Calls back when something holds, or after so many milliseconds.
---@param holds fun(): boolean?
---@param limit integer
---@param back fun()
local function when(holds, limit, back)
  local timer = assert(vim.uv.new_timer())
  local began = vim.uv.now()
  timer:start(
    0,
    10,
    vim.schedule_wrap(function()
      if not timer:is_closing() and (holds() or vim.uv.now() - began > limit) then
        timer:close()
        back()
      end
    end)
  )
end

--- Whether a server is there that was told to end.
local function is_leaving()
  for _, client in ipairs(clients()) do
    if leaving[client.id] then
      return true
    end
  end
  return false
end

--- Ends all servers and starts them anew.
function M.restart()
  deaths, is_missing_told, left_alone = {}, false, nil
  local all = clients()
  local roots = bare(all)
  local function stop(force)
    for _, client in ipairs(all) do
      leaving[client.id] = leaving[client.id] or not client:is_stopped() or nil
      client:stop(force)
    end
  end
  local function are_gone()
    return not is_leaving()
  end
  stop()
  when(are_gone, STOP, function()
    -- one that hangs is killed, and that takes a moment, too
    stop(true)
    when(are_gone, STOP, function()
      attach_all(roots)
    end)
  end)
end

--- The directory of the workspace that a buffer is about: as it says itself, of its file, else of the current directory.
---@param buf integer
---@return string?
function M.place(buf)
  return vim.b[buf].backstitch_root or M.root(file_of(buf) or vim.uv.cwd() or '.')
end

--- A server has said which workspace a file of its is in.
---@param root string
---@param client vim.lsp.Client
function M.serves(root, client)
  serving[root] = client.id
end

--- The directory that a server was started for, else that of the workspace that it has said.
---@param client vim.lsp.Client
---@return string?
function M.root_of(client)
  if client.root_dir then
    return client.root_dir
  end
  for root, id in pairs(serving) do
    if id == client.id then
      return root
    end
  end
end

---@param client vim.lsp.Client
---@param root string?
---@return boolean
local function is_of(client, root)
  return root ~= nil and (client.root_dir == root or serving[root] == client.id)
end

--- The server of this buffer's workspace; of one that is no file, else the only one.
---@param buf? integer
---@return vim.lsp.Client?
function M.find(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local own = clients(buf)[1]
  if own then
    return own
  end
  local all = clients()
  local root = M.place(buf)
  for _, client in ipairs(all) do
    if is_of(client, root) then
      return client
    end
  end
  return #all == 1 and not root and not file_of(buf) and all[1] or nil
end

--- Which workspace is meant: that of a buffer; else that of the directory.
---@param client vim.lsp.Client
---@param buf integer
---@return { workspace?: string, uri?: string }
function M.where(client, buf)
  local root = vim.b[buf].backstitch_root
  if root then
    return { workspace = root }
  end
  if file_of(buf) and client.attached_buffers[buf] then
    return { uri = vim.uri_from_bufnr(buf) }
  end
  return client.root_dir and { workspace = client.root_dir } or {}
end

--- As `find`; starts one for the directory where there is none, and waits until it is there. A `root` is that of the
--- workspace, whatever the buffer is.
---@async
---@param buf? integer
---@param root? string
---@return vim.lsp.Client
function M.client(buf, root)
  buf = buf or vim.api.nvim_get_current_buf()
  if is_leaving() then
    task.await(function(back)
      when(function()
        return not is_leaving()
      end, STOP, back)
    end)
  end
  local client
  if root then
    for _, each in ipairs(clients()) do
      client = is_of(each, root) and each or client
    end
  else
    client = M.find(buf)
  end
  if not client then
    if not M.binary() then
      task.fail({
        message = ("'%s' is no program that can be started"):format(M.program()),
        hint = 'Install it (cargo install backstitch), or set cmd: :help backstitch-options',
      })
    end
    if left_alone then
      task.fail({ message = left_alone, hint = ':Backstitch restart starts it again' })
    end
    -- a file that has just been opened
    client = not root and M.attach(buf) or nil
  end
  if not client then
    local id = vim.lsp.start(rooted(root or M.place(buf) or vim.uv.cwd()), { attach = false, silent = true })
    client = id and vim.lsp.get_client_by_id(id)
  end
  if client and not client.initialized then
    local waiting = client
    task.await(function(back)
      when(function()
        return waiting.initialized or waiting:is_stopped()
      end, START, back)
    end)
  end
  if not client or not client.initialized or client:is_stopped() then
    task.fail({ message = 'the server does not start', hint = ':checkhealth backstitch says more' })
  end
  return client
end

---@param err lsp.ResponseError
---@return backstitch.Failure
local function failure(err)
  local data = type(err.data) == 'table' and err.data or {}
  local function text(value)
    return type(value) == 'string' and value or nil
  end
  return {
    message = err.message,
    kind = text(data.kind),
    hint = text(data.hint),
    answer = type(data.answer) == 'table' and data.answer or nil,
  }
end

--- Asks a server and blocks until it has answered, where nothing else can be waited for. No answer is nil.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param patience integer milliseconds
---@return table? result, string? wrong
function M.request_now(client, method, params, patience)
  ---@diagnostic disable-next-line: param-type-mismatch
  local answer = client:request_sync(method, params, patience)
  if not answer then
    return nil, 'the server does not answer'
  end
  return answer.result, answer.err and answer.err.message
end

--- Asks a server, waits for its answer, and returns that.
---@async
---@param client vim.lsp.Client
---@param method string
---@param params table
---@return any
function M.request(client, method, params)
  local err, result = task.await(function(back)
    ---@type backstitch.Waiting
    local all = pending[client.id] or {}
    pending[client.id] = all
    ---@type function
    local once
    function once(...)
      if all[once] then
        all[once] = nil
        back(...)
      end
    end
    all[once] = true
    ---@diagnostic disable-next-line: param-type-mismatch
    if not client:request(method, params, once) then
      once({ message = 'the server is not running', data = { hint = ':Backstitch restart starts it' } })
    end
  end)
  if err then
    if err.code == -32800 or (type(err.data) == 'table' and err.data.kind == 'cancelled') then
      error(task.CALLED_OFF, 0)
    end
    task.fail(failure(err))
  end
  return result
end

--- Has a server carry out a command.
---@async
---@param client vim.lsp.Client
---@param command string
---@param arguments table
---@return any
function M.execute(client, command, arguments)
  local params = { command = command, arguments = { vim.tbl_isempty(arguments) and vim.empty_dict() or arguments } }
  return M.request(client, 'workspace/executeCommand', params)
end

return M
