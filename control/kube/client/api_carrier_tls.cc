// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "control/kube/client/api_carrier_certificate.h"
#include "control/kube/client/api_carrier_system.h"
#include "control/kube/client/credentials_file.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr int kSessionIndex = 0;  // OpenSSL leaves this one to the application
// As much as is read off the socket at once: two records. More leaves the cache: 900 MB cost 0.39 s
// of CPU so, 0.43 s without reading ahead, 0.63 s with 256 KiB.
constexpr std::size_t kReadAhead = std::size_t{34} << 10;

using Context = std::unique_ptr<SSL_CTX, SslFree>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string Where(const Secret& secret, std::string_view what) {
  return secret.text.empty() ? absl::StrCat("the ", what, " file ", secret.file)
                             : absl::StrCat("the inline ", what);
}

absl::Status Unusable(const Secret& secret, std::string_view what, std::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(Where(secret, what), " ", why));
}

// A terminal is never asked for a password.
int NoPassword(char*, int, int, void*) { return -1; }

// Walks over the PEM blocks of a text.
class PemText {
 public:
  explicit PemText(const std::string& text)
      : bio_(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free) {}
  Certificate NextCertificate() const {
    return {PEM_read_bio_X509(bio_.get(), nullptr, NoPassword, nullptr), X509_free};
  }
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> Key() const {
    return {PEM_read_bio_PrivateKey(bio_.get(), nullptr, NoPassword, nullptr), EVP_PKEY_free};
  }

 private:
  std::unique_ptr<BIO, decltype(&BIO_free)> bio_;
};

absl::Status AddAuthorities(SSL_CTX* context, const Secret& secret) {
  if (secret.empty()) {
    AddSystemAuthorities(SSL_CTX_get_cert_store(context));
    return absl::OkStatus();
  }
  const auto text = ReadSecret(secret, "CA");
  if (!text.ok()) return text.status();
  int added = 0;
  // Block by block: as in Go one that is no certificate, or is broken, spoils no other.
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (std::size_t at = text->find(kBegin); at != std::string::npos;) {
    const std::size_t next = text->find(kBegin, at + 1);
    if (const Certificate each = PemText(text->substr(at, next - at)).NextCertificate())
      added += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get());
    at = next;
  }
  if (added == 0)
    return Unusable(secret, "CA", "holds no PEM certificate; write the cluster's CA into it");
  return absl::OkStatus();
}

absl::Status AddClientCertificate(SSL_CTX* context, const ClusterAccess& access) {
  if (access.client_certificate.empty()) return absl::OkStatus();
  const auto certificate = ReadSecret(access.client_certificate, "client certificate");
  if (!certificate.ok()) return certificate.status();
  const auto key = ReadSecret(access.client_key, "client key");
  if (!key.ok()) return key.status();

  const PemText chain(*certificate);
  const Certificate own = chain.NextCertificate();
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {  // null is refused too
    return Unusable(access.client_certificate, "client certificate",
                    "is no PEM certificate that OpenSSL takes; write it anew");
  }
  while (const Certificate each = chain.NextCertificate())
    SSL_CTX_add1_chain_cert(context, each.get());
  const auto parsed = PemText(*key).Key();
  if (!parsed) {
    return Unusable(access.client_key, "client key",
                    "is no PEM private key without a password; write it anew");
  }
  if (SSL_CTX_use_PrivateKey(context, parsed.get()) != 1) {
    return Unusable(
        access.client_key, "client key",
        absl::StrCat("does not belong to ", Where(access.client_certificate, "client certificate"),
                     "; give the two that were made together"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Context> MakeContext(const ClusterAccess& access) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return absl::InternalError("OpenSSL cannot be set up");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAhead);
  constexpr unsigned char kHttp1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp1, sizeof kHttp1);
  if (!access.insecure_skip_tls_verify) {
    if (auto added = AddAuthorities(context.get(), access.certificate_authority); !added.ok())
      return added;
    // The end of a PEM text. Left in the thread's queue it would be the error of another exchange.
    ERR_clear_error();
  }
  if (auto added = AddClientCertificate(context.get(), access); !added.ok()) return added;
  ERR_clear_error();  // the end of a PEM text
  return context;
}

bool IsAddress(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

// As Go verifies: what the CAs hold is trusted even if it is not self-signed, and a subject is no
// host name. False: `name` can be nobody's.
bool Expect(SSL* ssl, std::string name) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (IsAddress(name)) {
    const std::string without_zone = name.substr(0, name.find('%'));
    return X509_VERIFY_PARAM_set1_ip_asc(param, without_zone.c_str()) == 1;
  }
  return X509_VERIFY_PARAM_set1_host(param, name.data(), name.size()) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

absl::Status OldProtocol() {
  return absl::UnavailableError("it has no TLS 1.2 or newer; update it");
}

absl::Status Refused(std::string_view alert, int number) {
  switch (number) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return absl::UnauthenticatedError(
          absl::StrCat("it refuses our client certificate (TLS alert \"", alert,
                       "\"); give one that its client CA has signed and that is still valid"));
    case SSL_AD_PROTOCOL_VERSION:
      return OldProtocol();
    default:
      return absl::UnavailableError(
          absl::StrCat("it ended TLS with the alert \"", alert, "\"; see the server's log"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Make(const ClusterAccess& access) {
  auto context = MakeContext(access);
  if (!context.ok()) return context.status();
  std::unique_ptr<TlsSession> session(new TlsSession());
  session->ssl_.reset(SSL_new(context->get()));
  if (!session->ssl_) return absl::InternalError("OpenSSL cannot be set up");
  session->name_ = access.tls_server_name.empty() ? access.host : access.tls_server_name;
  session->authorities_ = access.certificate_authority.empty()
                              ? "any CA that this system trusts"
                              : Where(access.certificate_authority, "CA");
  SSL* const ssl = session->ssl_.get();
  SSL_set_ex_data(ssl, kSessionIndex, session.get());
  SSL_set_verify(ssl, access.insecure_skip_tls_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                 access.insecure_skip_tls_verify ? nullptr : &TlsSession::Judge);
  if (!Expect(ssl, session->name_)) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        "no certificate can be for ", Quoted(session->name_), "; correct tls-server-name"));
  }
  SSL_set_connect_state(ssl);
  return session;
}

int TlsSession::Judge(int trusted, X509_STORE_CTX* chain) {
  if (trusted == 1) return 1;
  auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const session = static_cast<TlsSession*>(SSL_get_ex_data(ssl, kSessionIndex));
  session->distrust_ =
      DescribeDistrust(X509_STORE_CTX_get_error(chain), X509_STORE_CTX_get_current_cert(chain),
                       session->name_, session->authorities_);
  return 0;
}

absl::Status TlsSession::Failure() const {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (!distrust_.empty()) return absl::UnauthenticatedError(distrust_);
  const int reason = ERR_GET_REASON(first);
  if (ERR_GET_LIB(first) == ERR_LIB_SSL) {
    if (reason >= SSL_AD_REASON_OFFSET) {
      const int number = reason - SSL_AD_REASON_OFFSET;
      return Refused(SSL_alert_desc_string_long(number), number);
    }
    switch (reason) {
      case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return absl::UnavailableError("it cut the connection");
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
        return absl::UnavailableError(
            "it does not answer in TLS; is this the port of \"https://\"?");
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return OldProtocol();
      default:
        break;
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "TLS with it fails: ", absl::NullSafeStringView(ERR_reason_error_string(first))));
}

}  // namespace weft::kube
