--- The language server: its start, its restart after a crash, and the one that a buffer belongs to.
local config = require('backstitch.config')
local handlers = require('backstitch.server.handlers')
local requests = require('backstitch.server.requests')
local task = require('backstitch.task')

local M = {}

--- The oldest version of the server that this plugin supports.
M.NEEDS = '0.1.0'
local NAME = 'backstitch'
local ROOTS = { '.backstitch.toml', '.git', '.jj', '.hg' }
--- After more than MAX_EXITS crashes within EXIT_WINDOW seconds the server is not restarted.
local MAX_EXITS, EXIT_WINDOW = 5, 180
--- Delay before the first restart, in milliseconds; it doubles each time.
local RESTART_DELAY = 250
--- Time limits for the start and the stop of a server, in milliseconds.
local START_TIMEOUT = 10000
local STOP_TIMEOUT = 3000

--- Times of crashes, in seconds.
---@type number[]
local crashes = {}
--- True once the missing binary was reported.
local is_missing_reported = false
--- Reason why only the user starts a server again: it is too old, or crashes.
---@type string?
local disabled_reason
--- Client ids by workspace root, where the root is not the directory that the server was started for.
---@type table<string, integer>
local client_by_root = {}
--- Servers that are stopping on request.
---@type table<integer, true>
local stopping = {}

M.on = handlers.on
M.request, M.request_now, M.execute = requests.request, requests.request_now, requests.execute

--- Returns the program of the server, which may come from another plugin's configuration.
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

--- Returns the servers, starting ones included.
---@param buf? integer Limits them to this buffer.
---@return vim.lsp.Client[]
local function clients(buf)
  return vim.lsp.get_clients({ name = NAME, bufnr = buf, _uninitialized = true })
end

--- Returns the servers that have not ended: Neovim lists a client for a moment longer.
---@param buf? integer
---@return vim.lsp.Client[]
local function running(buf)
  return vim.tbl_filter(function(client)
    return not client:is_stopped()
  end, clients(buf))
end

--- True if a server may be started. Reports a missing binary once.
---@return boolean
local function has_binary()
  if M.binary() then
    is_missing_reported = false
    return not disabled_reason
  end
  if not is_missing_reported then
    is_missing_reported = true
    handlers.notify(
      ("'%s' is not an executable. Install it (cargo install --path server, in a clone), or set cmd: :help backstitch-options"):format(
        M.program()
      )
    )
  end
  return false
end

---@param buf integer
---@return string? path path of the buffer's file
local function file_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' or name:match('^%a[%w+.-]+://') then
    return nil
  end
  -- netrw lists a directory in an ordinary buffer
  return vim.fn.isdirectory(name) == 0 and name or nil
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
    panels = true,
  }, { store = own.settings.store })
  -- edits of the server then name the version of the text that they are for
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.workspace.workspaceEdit.documentChanges = true
  ---@type vim.lsp.Config
  return {
    name = NAME,
    cmd = own.cmd,
    capabilities = capabilities,
    root_dir = function(buf, start)
      if file_of(buf) and has_binary() then
        start(M.root(buf))
      end
    end,
    init_options = { backstitch = client_options },
    settings = { backstitch = own.settings } --[[@as lsp.LSPObject]],
    handlers = handlers.handlers(),
    commands = handlers.commands(),
    on_init = function(client)
      M.on_init(client)
    end,
    on_exit = function(code, signal, id)
      vim.schedule(function()
        M.on_exit(code, signal, id)
      end)
    end,
  }
end

--- Applies the user's options to servers that start from now on.
function M.configure()
  ---@diagnostic disable-next-line: undefined-field
  local known = vim.lsp.config[NAME] --[[@as table]]
  local own = M.config()
  -- replace the older values: `vim.lsp.config()` would merge them
  local changed = { cmd = own.cmd, init_options = own.init_options, settings = own.settings }
  ---@diagnostic disable-next-line: assign-type-mismatch, inject-field
  vim.lsp.config[NAME] = vim.tbl_extend('force', known, changed)
end

--- Checks the version of a server that has just started.
---@param client vim.lsp.Client
function M.on_init(client)
  local version = vim.tbl_get(client, 'server_info', 'version')
  local is_old = not version or vim.version.lt(version, M.NEEDS)
  if is_old then
    stopping[client.id] = true
    -- the client is still sending `initialized`
    vim.schedule(function()
      client:stop(true)
    end)
    disabled_reason = ('%s is version %s; this plugin needs %s or newer'):format(
      M.binary() or M.program(),
      version or 'unknown',
      M.NEEDS
    )
    handlers.notify(disabled_reason .. '. Update it: cargo install --path server, in a clone')
    return
  end
  if vim.lsp.codelens.enable then
    -- the plugin draws these lenses; Neovim draws those of other servers if the user enabled them
    vim.lsp.codelens.enable(false, { client_id = client.id })
  end
  handlers.emit('attached', {}, client)
end

--- True unless the user disabled the server; always true in Neovim 0.11, which has no such query.
local function is_enabled()
  return not vim.lsp.is_enabled or vim.lsp.is_enabled(NAME)
end

--- Returns the current client configuration for a directory.
---@param root? string
---@return vim.lsp.ClientConfig
local function config_for(root)
  ---@diagnostic disable-next-line: undefined-field
  local known = vim.lsp.config[NAME] --[[@as vim.lsp.Config]]
  local own = vim.tbl_extend('force', {}, known)
  -- also if it is nil: the configured function would run otherwise
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
  local id = vim.lsp.start(config_for(M.root(buf)), { bufnr = buf, silent = true })
  return id and vim.lsp.get_client_by_id(id)
end

--- Starts servers for open buffers and for these directories, which need no buffer.
---@param roots string[]
local function attach_all(roots)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
  for _, root in ipairs(roots) do
    if has_binary() then
      vim.lsp.start(config_for(root), { attach = false, silent = true })
    end
  end
end

--- Returns the roots of servers without buffers.
---@param all vim.lsp.Client[]
---@return string[]
local function unattached_roots(all)
  local roots = {}
  for _, client in ipairs(all) do
    if client.root_dir and not next(client.attached_buffers) then
      table.insert(roots, client.root_dir)
    end
  end
  return roots
end

--- Handles the exit of a server. A crashed server is restarted, with a growing delay.
---@param code integer
---@param signal integer
---@param id integer
function M.on_exit(code, signal, id)
  local client = vim.lsp.get_client_by_id(id)
  local roots = unattached_roots({ client })
  if client then
    handlers.emit('gone', {}, client)
  end
  for root, server in pairs(client_by_root) do
    client_by_root[root] = server ~= id and server or nil
  end
  requests.fail_pending(id)
  local is_wanted = stopping[id] or vim.v.exiting ~= vim.NIL or not is_enabled()
  stopping[id] = nil
  -- Neovim stops a server with SIGTERM
  if is_wanted or (code == 0 and (signal == 0 or signal == 15)) then
    return
  end
  local now = vim.uv.now() / 1000
  crashes = vim.tbl_filter(function(time)
    return now - time < EXIT_WINDOW
  end, crashes)
  table.insert(crashes, now)
  if #crashes > MAX_EXITS then
    disabled_reason = ('the server has crashed %d times within %d minutes and is not restarted'):format(
      #crashes,
      EXIT_WINDOW / 60
    )
    handlers.notify(disabled_reason .. '. :Backstitch restart starts it; :checkhealth backstitch says more')
    return
  end
  vim.defer_fn(function()
    attach_all(roots)
  end, math.floor(RESTART_DELAY * 2 ^ (#crashes - 1)))
end

--- Lets `vim.lsp` start a server with each file. The autocommands cover files without a file type, which `vim.lsp` ignores.
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
  -- a text that is read again has a new version: an edit for the text before does not apply to it
  vim.api.nvim_create_autocmd('BufReadPre', {
    group = group,
    callback = function(event)
      vim.lsp.util.buf_versions[event.buf] = vim.api.nvim_buf_get_changedtick(event.buf) + 1
    end,
  })
  -- 0.11 needs a call for each refresh
  local draws = vim.lsp.codelens.enable ~= nil
  if draws then
    require('backstitch.lenses').enable()
  end
  vim.api.nvim_create_autocmd(draws and 'LspAttach' or { 'LspAttach', 'BufEnter', 'InsertLeave' }, {
    group = group,
    callback = function(event)
      local buf = event.buf
      if #vim.lsp.get_clients({ name = NAME, bufnr = buf }) == 0 then
        return
      end
      if draws then
        require('backstitch.lenses').attach(buf)
      elseif config.get().codelens then
        ---@diagnostic disable-next-line: deprecated
        vim.lsp.codelens.refresh({ bufnr = buf })
      end
    end,
  })
  attach_all({})
end

--- Polls a condition, and calls back once it holds or after `limit` milliseconds.
---@param holds fun(): boolean?
---@param limit integer
---@param back fun()
local function wait_until(holds, limit, back)
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

--- True while a server is stopping.
local function is_stopping()
  for _, client in ipairs(clients()) do
    if stopping[client.id] then
      return true
    end
  end
  return false
end

--- Stops all servers and starts them again.
function M.restart()
  crashes, is_missing_reported, disabled_reason = {}, false, nil
  local all = clients()
  local roots = unattached_roots(all)
  local function stop(force)
    for _, client in ipairs(all) do
      stopping[client.id] = stopping[client.id] or not client:is_stopped() or nil
      client:stop(force)
    end
  end
  local function are_stopped()
    return not is_stopping()
  end
  stop()
  wait_until(are_stopped, STOP_TIMEOUT, function()
    -- kill a server that hangs, and wait for its exit
    stop(true)
    wait_until(are_stopped, STOP_TIMEOUT, function()
      attach_all(roots)
    end)
  end)
end

--- Returns the root of a buffer's workspace: its own variable, else the root of its file, else of the current directory.
---@param buf integer
---@return string?
function M.root_for_buffer(buf)
  return vim.b[buf].backstitch_root or M.root(file_of(buf) or vim.uv.cwd() or '.')
end

--- Records the workspace root that a server reported for a file.
---@param root string
---@param client vim.lsp.Client
function M.serves(root, client)
  client_by_root[root] = client.id
end

--- Returns the directory that a server was started for, else the workspace root that it reported.
---@param client vim.lsp.Client
---@return string?
function M.root_of(client)
  if client.root_dir then
    return client.root_dir
  end
  for root, id in pairs(client_by_root) do
    if id == client.id then
      return root
    end
  end
end

---@param client vim.lsp.Client
---@param root string?
---@return boolean
local function is_of(client, root)
  return root ~= nil and (client.root_dir == root or client_by_root[root] == client.id)
end

--- Returns the server of this buffer's workspace. A buffer without a file falls back to the only server.
---@param buf? integer
---@return vim.lsp.Client?
function M.find(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local own = running(buf)[1]
  if own then
    return own
  end
  local all = running()
  local root = M.root_for_buffer(buf)
  for _, client in ipairs(all) do
    if is_of(client, root) then
      return client
    end
  end
  return #all == 1 and not root and not file_of(buf) and all[1] or nil
end

--- Returns the parameters that name a workspace: that of the buffer, else that of the server's directory.
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

--- Finds a server like `find`, or starts one for the directory and waits until it is ready. `root` names the workspace
--- independently of the buffer.
---@async
---@param buf? integer
---@param root? string
---@return vim.lsp.Client
function M.client(buf, root)
  buf = buf or vim.api.nvim_get_current_buf()
  if is_stopping() then
    task.await(function(back)
      wait_until(function()
        return not is_stopping()
      end, STOP_TIMEOUT, back)
    end)
  end
  local client
  if root then
    for _, each in ipairs(running()) do
      client = is_of(each, root) and each or client
    end
  else
    client = M.find(buf)
  end
  if not client then
    if not M.binary() then
      task.fail({
        message = ("'%s' is not an executable"):format(M.program()),
        hint = 'Install it (cargo install --path server, in a clone), or set cmd: :help backstitch-options',
      })
    end
    if disabled_reason then
      task.fail({ message = disabled_reason, hint = ':Backstitch restart starts it again' })
    end
    -- the file may have been opened just now
    client = not root and M.attach(buf) or nil
  end
  if not client then
    local id =
      vim.lsp.start(config_for(root or M.root_for_buffer(buf) or vim.uv.cwd()), { attach = false, silent = true })
    client = id and vim.lsp.get_client_by_id(id)
  end
  if client and not client.initialized then
    local waiting = client
    task.await(function(back)
      wait_until(function()
        return waiting.initialized or waiting:is_stopped()
      end, START_TIMEOUT, back)
    end)
  end
  if not client or not client.initialized or client:is_stopped() then
    task.fail({ message = 'the server does not start', hint = ':checkhealth backstitch says more' })
  end
  return client
end

return M
